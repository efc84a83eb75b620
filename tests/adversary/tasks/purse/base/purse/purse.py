"""A purse holds an amount."""


class Purse:
    def __init__(self, balance=0):
        self.balance = balance

    def put(self, amount):
        self.balance += amount

    def take(self, amount):
        self.balance -= amount
        return amount
