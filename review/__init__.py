# SPDX-License-Identifier: GPL-2.0
"""The patches as mail: `make review` checks them as their reviewers would, `make outbox` writes them ready to send."""
