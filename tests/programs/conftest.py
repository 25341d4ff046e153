"""The programs are run, not collected: some of them are test files."""

collect_ignore_glob = ["scripts/*"]
