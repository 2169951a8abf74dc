"""What a suite found: checks that passed, checks that failed, and the closing line."""

import random
import sys
import time


class Report:
    """Counts checks; a failed one is told at once."""

    def __init__(self, suite, seed=None):
        self.suite = suite
        self.passed = 0
        self.failed = 0
        self.seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
        self.started = time.monotonic()
        self.say(f"{suite}: seed {self.seed}")

    def say(self, text):
        print(text, flush=True)

    def check(self, name, truth, found=""):
        """Notes whether something is as it should be; answers the truth."""
        if truth:
            self.passed += 1
        else:
            self.failed += 1
            self.say(f"FAILED  {name}" + (f": {str(found)[:600]}" if found != "" else ""))
        return truth

    def equal(self, name, found, expected):
        """Notes whether what was found is what was expected."""
        return self.check(name, found == expected, f"found {found!r}, expected {expected!r}")

    def contains(self, name, text, part):
        """Notes whether a text has a part."""
        return self.check(name, part in text, f"no {part!r} in {text!r}")

    def finish(self):
        """Prints the closing line and ends the program: 1 when anything failed."""
        seconds = time.monotonic() - self.started
        if self.failed:
            self.say(f"{self.suite}: play it again with SUITE_SEED={self.seed}")
        self.say(f"{self.suite}: {self.passed} passed, {self.failed} failed ({seconds:.0f} s)")
        sys.exit(1 if self.failed else 0)
