"""What people and programs are told: notices in the site, e-mails, webhooks.

`notify.py` writes rows in the transaction of the change they tell. `courier.py`, which runs beside the sweeper,
sends what is due. A process may be killed anywhere: what was not sent is still a row, and comes with the same id.
"""
