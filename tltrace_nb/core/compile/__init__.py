"""From a kernel with markers to one that records: marking, scheduling, placing, lowering, the device helper."""
