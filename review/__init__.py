# SPDX-License-Identifier: GPL-2.0
"""The patches as mail: `make review` checks them, and `make outbox` writes them ready to send."""
