"""Putting faults into captures, datasets and documents of the embedded default.

Each injection takes a sound subject and gives a faulty one; the real forward of the embedded target runs in both.
"""
