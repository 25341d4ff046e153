"""A trace as marks on a plane: which lanes, bars, words and colours; the still picture. It knows no notebook."""
