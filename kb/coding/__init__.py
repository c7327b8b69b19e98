"""The joins of the concepts with standard codes; ../codes.py runs them."""
