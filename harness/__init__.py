# SPDX-License-Identifier: GPL-2.0
"""From a base kernel and series/ to a table: one module per stage, data flowing one way.

options -> source -> tree -> kernels -> initramfs -> accel -> guest -> samples -> report, plot

Each stage reads what the one before it made, never the other way round, and
runs alone as ``python3 -m harness.STAGE``. What is built lies under build/.
"""
