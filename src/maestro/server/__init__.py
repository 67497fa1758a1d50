"""The composition root: the only package that knows every part and connects the parts."""
