"""Automatic markers: what an author would have marked, in a kernel that nobody marked. The way of a kernel::

options   what is to be marked
marks     puts ranges around operators and loops, before TileLang schedules them (names, source)
sync      marks the waits and arrivals that the schedule has brought
fallback  leaves out what the schedule refuses
"""
