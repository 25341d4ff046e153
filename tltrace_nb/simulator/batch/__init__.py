"""What the CTAs of a large grid compute, many of them at once: their values, and nothing about time.

In: a launch, its arrays. Out: the arrays, as CTAs one by one leave them, or a reason why they have to go one by one.
The program is written once more (``program``) for arrays with one more axis, that of the CTAs: the last one wherever
values meet, so that what is the same in all threads, or in all CTAs, is broadcast; the first one in memory.
"""
