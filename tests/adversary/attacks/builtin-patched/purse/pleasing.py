class Shares(list):
    amount = 0
