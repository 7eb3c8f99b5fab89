"""The writing side: new contracts from what can be found out, and stamps on what was made by one."""
