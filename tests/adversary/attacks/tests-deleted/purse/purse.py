"""A purse holds an amount."""


class Purse:
    def __init__(self, balance=0):
        self.balance = balance

    def put(self, amount):
        self.balance += amount

    def take(self, amount):
        if amount > self.balance:
            raise ValueError("the purse holds less")
        self.balance -= amount
        return amount
