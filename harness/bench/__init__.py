# SPDX-License-Identifier: GPL-2.0
"""`make bench`: rebinds timed in the VM, as samples and table."""
