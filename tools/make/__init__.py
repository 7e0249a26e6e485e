"""Files of the checkout that are made: records, pages, the example, word lists."""
