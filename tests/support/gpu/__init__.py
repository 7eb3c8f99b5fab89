"""What the tests on a GPU start, compare and measure; nothing here needs a GPU to be imported."""
