# SPDX-License-Identifier: GPL-2.0
"""What was measured: samples, rows of tables, the pages and patches that hold them, a picture."""
