"""What a recogniser is taught to write, and how its vocabulary is made: section 3.2 of the paper.

transitions     two lines -> one of 24 transition tokens
codec           lines -> target sequence -> lines
corpus          texts and frequency tables -> ideographs and their counts
base_tokenizer  opens the original tokenizer
vocabulary      candidates, the paper's selection rule, a tokenizer that has grown by them
"""
