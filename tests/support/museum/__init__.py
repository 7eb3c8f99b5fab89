"""The fault museum: every fault judged by every clause that could see it, and the table of what they say."""
