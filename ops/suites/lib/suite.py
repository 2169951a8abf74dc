"""What every suite begins with: `SUITE BINARY [long]`, a seed, a report."""

import os
import random
import sys
import time

from report import Report


class Suite:
    """The program's path, how long to go on, and chance from a printed seed."""

    def __init__(self, name):
        words = sys.argv[1:]
        if len(words) not in (1, 2) or words[1:] not in ([], ["long"]):
            print(f"usage: {name}.py BINARY [long]", file=sys.stderr)
            sys.exit(2)
        self.binary = words[0]
        self.is_long = len(words) == 2
        seed = os.environ.get("SUITE_SEED")
        self.report = Report(name, int(seed) if seed else None)
        self.chance = random.Random(self.report.seed)
        self.root = os.path.dirname(
            os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

    def choose(self, gate, long):
        """A number for the gate, or for a long run."""
        return long if self.is_long else gate

    def cases(self, what):
        """The folder of other people's data beside the project; None, loudly, when it is absent."""
        folder = os.path.join(os.path.dirname(self.root), "shared", "cases")
        if os.path.isdir(folder):
            return folder
        self.report.say(f"!! ../shared/cases is absent: {what.upper()} WERE NOT PLAYED")
        self.report.say(f"{self.report.suite}: 0 passed, 0 failed, 1 skipped")
        return None

    @staticmethod
    def now():
        """Milliseconds since 1970."""
        return int(time.time() * 1000)
