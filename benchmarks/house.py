"""``make house``: how the product's code is cut and named, beside projects we admire. Aims are shown; ``--check``
enforces them.

Counts what a reader meets: tests, migrations, static files, the double of a model server, benchmarks and the clients'
add-ons are left out, here as in the other projects. Lengths are in lines and include docstrings and blank lines.
"""

import argparse
import ast
import math
import re
import signal
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median_low

from benchmarks.walks import Code, FunctionNode, Walk

PROJECT = Path(__file__).resolve().parent.parent
PRODUCT = ("memory", "proxy", "resolution", "festinger_site", "manage.py")
LEFT_OUT = {"tests", "migrations", "static", "benchmarks", "standin", "clients", "__pycache__"}
LONG_FUNCTION, SHORT_FUNCTION, SPLINTER, LONG_FILE, FULL_PACKAGE = 60, 3, 6, 350, 14

# As first word of a function's name. Not here: put, read, set, cut, let, split, which are imperatives as well.
IRREGULAR_PARTICIPLES = frozenset(
    """
    begun bound brought built caught done drawn felt found gone grown heard held kept known laid led left lost made
    meant met paid said sent shown sought spent stood taught thought thrown told torn understood worn
    """.split()  # noqa: SIM905
)
NO_PARTICIPLES = frozenset(
    "embed even exceed feed flatten shorten golden happen listen need often open proceed seed speed token when".split()  # noqa: SIM905
)
# Names that a framework chose: Django looks for a management command's class under this one.
GIVEN_TYPES = {"Command"}
GIVEN_FILES = {"__init__", "__main__", "admin", "apps", "models", "tasks"}
TYPE_NAME = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")  # Slot, _Asking; not a CONSTANT
# What is read like a field, a column of the admin too: there a participle says what is so.
FIELD_LIKE = {"property", "cached_property", "display"}

PROJECTS = ("healthchecks", "httpx", "procrastinate", "starlette", "readthedocs", "stamina")
# Counted once, without their tests and migrations: the first three by rules like these, so that a tenth more or less
# says nothing; the others by an earlier, shorter count. "" where it was not counted.
THEIRS = {
    "files": ("178", "23", "45", "34", "325", "10"),
    "lines": ("16,885", "8,827", "8,977", "", "", "1,512"),
    "file-median": ("42", "248", "45-130", "142", "78", "54"),
    "file-p90": ("161", "641", "358-419", "548", "456", "913"),
    "file-max": ("1,584", "2,019", "1,042", "", "", ""),
    "levels": ("13", "16", "24", "23", "", "7"),
    "comments": ("4.3 %", "3.9-4.0 %", "3.0 %", "2.5 %", "6.5 %", "2.8 %"),
    "readme": ("3,287", "548", "461", "", "", ""),
    "function-median": ("8", "9", "8", "5", "8", "8"),
    "function-p90": ("32", "34", "32", "27", "36", "28"),
    "function-max": ("181", "133", "126", "", "", ""),
    "long-functions": ("1.8 %", "1.8 %", "2.3 %", "0.8 %", "3.2 %", "4.1 %"),
    "short-functions": ("26 %", "23 %", "24 %", "", "", ""),
    "called-once": ("13 %", "16 %", "23 %", "", "", ""),
    "splinters": ("6 %", "3 %", "5 %", "", "", ""),
    "participles": ("0.9 %", "0.4 %", "0.7 %", "", "", ""),
    "one-word": ("41 %", "45 %", "17 %", "", "", ""),
}
# A fact, a conflict and a decision on their ways.
WALKS = ("assert_fact:fact", "decide:conflict_id", "undo:decision_id")


@dataclass(frozen=True, slots=True)
class Module:
    path: str  # relative to the project
    lines: list[str]
    tree: ast.Module

    @property
    def has_code(self) -> bool:
        """False for the ``__init__.py`` that only makes a folder a package, or says what is in it."""
        return any(not isinstance(node, ast.Expr) for node in self.tree.body)


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    place: str  # path:line
    length: int  # from ``def`` on, decorators left out
    is_field_like: bool

    @property
    def is_special(self) -> bool:
        return self.name.startswith("__") and self.name.endswith("__")


@dataclass(frozen=True, slots=True)
class Figure:
    name: str  # for --list
    title: str
    value: float
    offenders: list[str]  # "path:line what", the worst first
    most: float | None = None  # aim
    least: float | None = None  # aim
    unit: str = ""

    @property
    def is_missed(self) -> bool:
        return (self.most is not None and self.value > self.most) or (
            self.least is not None and self.value < self.least
        )

    @property
    def aim(self) -> str:
        if self.most is not None:
            return f"<= {show(self.most)}{self.unit}"
        return "" if self.least is None else f">= {show(self.least)}{self.unit}"


class House:
    """The figures of the code under ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = list(read_modules(root))
        self.functions = [function for module in self.modules for function in find_functions(module)]

    @cached_property
    def named(self) -> list[Function]:
        """Those whose names we chose: no ``__init__`` and the like."""
        return [function for function in self.functions if not function.is_special]

    def measure(self) -> Iterator[Figure]:
        yield from self.measure_files()
        yield from self.measure_functions()
        yield from self.measure_names()

    def measure_files(self) -> Iterator[Figure]:
        longest = sorted(self.modules, key=lambda module: -len(module.lines))
        lengths = [len(module.lines) for module in self.modules if module.lines]
        files = [f"{module.path}:1 {len(module.lines)} lines" for module in longest if module.has_code]
        total = sum(lengths)
        comments = {module.path: count_comments(module.lines) for module in longest}
        fewest = sorted(longest, key=lambda module: comments[module.path] / max(len(module.lines), 1))
        bare = [f"{module.path}:1 {comments[module.path]} of {len(module.lines)}" for module in fewest if module.lines]
        packages = Counter(folder_of(module.path) for module in self.modules if not is_package(module.path))
        levels = [f"{package} {count} modules" for package, count in packages.most_common()]
        words = len((self.root / "README.md").read_text().split())
        long = [file for file, module in zip(files, longest, strict=False) if len(module.lines) > LONG_FILE]

        yield Figure("files", "files with code", len(files), files, most=230)
        yield Figure("lines", "lines", total, files, most=28_000)
        yield Figure("file-median", "lines of a file, median", median_low(lengths), [])
        yield Figure("file-p90", "… 90 % have at most", ninetieth(lengths), [])
        yield Figure("file-max", "… longest", max(lengths), files[:1])
        yield Figure("long-files", f"files over {LONG_FILE} lines", len(long), long)
        yield Figure("levels", "modules on the fullest level", max(packages.values()), levels, most=FULL_PACKAGE)
        yield Figure("comments", "comment lines", percent(sum(comments.values()), total), bare, least=2.5, unit=" %")
        yield Figure("readme", "words in the README", words, [])

    def measure_functions(self) -> Iterator[Figure]:
        longest = sorted(self.functions, key=lambda function: -function.length)
        lengths = [function.length for function in self.functions]
        long = [function for function in longest if function.length > LONG_FUNCTION]
        short = [function for function in self.functions if function.length <= SHORT_FUNCTION]
        once = self.find_called_once()
        splinters = [function for function in once if function.length <= SPLINTER]
        count = len(lengths)

        yield Figure("functions", "functions", count, [])
        yield Figure("function-median", "lines of a function, median", median_low(lengths), [])
        yield Figure("function-p90", "… 90 % have at most", ninetieth(lengths), [])
        yield Figure("function-max", "… longest", max(lengths), describe(longest[:20]))
        yield Figure("long-functions", f"functions over {LONG_FUNCTION} lines", len(long), describe(long), most=0)
        yield Figure(
            "short-functions",
            f"functions of at most {SHORT_FUNCTION} lines",
            percent(len(short), count),
            describe(short),
            most=26,
            unit=" %",
        )
        yield Figure(
            "called-once", "functions named once elsewhere", percent(len(once), count), describe(once), unit=" %"
        )
        yield Figure(
            "splinters",
            f"… of at most {SPLINTER} lines",
            percent(len(splinters), count),
            describe(splinters),
            unit=" %",
        )

    def measure_names(self) -> Iterator[Figure]:
        actions = [function for function in self.named if not function.is_field_like]
        participles = [function for function in actions if begins_with_participle(function.name)]
        one_word = [function for function in self.named if "_" not in function.name.strip("_")]
        homes = {name: places for name, places in self.find_type_homes().items() if len(places) > 1}
        types = [f"{places[0]} {name}, also {', '.join(places[1:])}" for name, places in sorted(homes.items())]
        files = defaultdict(list)
        for module in self.modules:
            files[Path(module.path).stem].append(module.path)
        twice = [
            f"{paths[0]}:1 also {', '.join(paths[1:])}"
            for name, paths in sorted(files.items())
            if len(paths) > 1 and name not in GIVEN_FILES
        ]

        yield Figure(
            "participles",
            "function names that begin with a participle",
            percent(len(participles), len(actions)),
            describe(participles),
            most=2,
            unit=" %",
        )
        yield Figure(
            "one-word",
            "function names of one word",
            percent(len(one_word), len(self.named)),
            describe(one_word),
            unit=" %",
        )
        yield Figure("two-homes", "type names defined in two modules", len(types), types, most=8)
        yield Figure("file-names", "file names used twice", len(twice), twice)

    def find_called_once(self) -> list[Function]:
        """Those whose name has one definition and is used once; what only a framework calls is not used at all."""
        uses: Counter[str] = Counter()
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Name):
                    uses[node.id] += 1
                elif isinstance(node, ast.Attribute):
                    uses[node.attr] += 1
        definitions = Counter(function.name for function in self.functions)
        return [function for function in self.named if definitions[function.name] == uses[function.name] == 1]

    def find_type_homes(self) -> dict[str, list[str]]:
        """Where each class and each type alias is defined; not what stands within a class (Meta, Kind)."""
        homes = defaultdict(list)
        for module in self.modules:
            for name, line in find_types(module.tree.body):
                if name not in GIVEN_TYPES:
                    homes[name].append(f"{module.path}:{line}")
        return homes


def read_modules(root: Path) -> Iterator[Module]:
    for part in PRODUCT:
        top = root / part
        for file in [top] if top.is_file() else sorted(top.rglob("*.py")):
            path = file.relative_to(root)
            if LEFT_OUT.isdisjoint(path.parts):
                text = file.read_text(encoding="utf-8")
                yield Module(path.as_posix(), text.splitlines(), ast.parse(text))


def find_functions(module: Module) -> Iterator[Function]:
    for node in ast.walk(module.tree):
        if isinstance(node, FunctionNode):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            decorators = {name_decorator(decorator) for decorator in node.decorator_list}
            yield Function(node.name, f"{module.path}:{node.lineno}", length, not decorators.isdisjoint(FIELD_LIKE))


def name_decorator(node: ast.expr) -> str:
    """``admin.display(ordering=...)`` is display."""
    function = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(function).rpartition(".")[2]


def find_types(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.If):  # TYPE_CHECKING
            yield from find_types(node.body)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and TYPE_NAME.fullmatch(target.id):
                yield target.id, node.lineno


def begins_with_participle(name: str) -> bool:
    word = name.strip("_").partition("_")[0]
    if word in NO_PARTICIPLES:
        return False
    return word.endswith(("ed", "en")) or word.removeprefix("un") in IRREGULAR_PARTICIPLES


def count_comments(lines: Sequence[str]) -> int:
    """Lines that hold nothing else."""
    tokens = tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__)
    return sum(token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") for token in tokens)


def describe(functions: Sequence[Function]) -> list[str]:
    return [f"{function.place} {function.name} ({function.length})" for function in functions]


def folder_of(path: str) -> str:
    return path.rpartition("/")[0] or "."


def is_package(path: str) -> bool:
    return path.endswith("__init__.py")


def ninetieth(lengths: Sequence[int]) -> int:
    return sorted(lengths)[math.ceil(len(lengths) * 0.9) - 1]


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def show(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"


def main() -> int:
    """The exit status: with ``--check``, 1 where an aim is missed."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ``--list lines | head`` ends quietly
    arguments = parse_arguments()
    if arguments.walks is not None:
        print("\n".join(describe_walk(start) for start in arguments.walks or WALKS))
        return 0
    figures = {figure.name: figure for figure in House(PROJECT).measure()}
    if arguments.list and arguments.list not in figures:
        sys.exit(f"There is no figure {arguments.list}; there are: {', '.join(figures)}")
    if arguments.list:
        print("\n".join(figures[arguments.list].offenders))
    else:
        print(format_table(list(figures.values())))
    return int(arguments.check and any(figure.is_missed for figure in figures.values()))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__)
    parser.add_argument("--list", metavar="FIGURE", help="what is counted, as file:line; by the first column")
    words = "follow a value instead: [module:]function:parameter; those named in the code where none is given"
    parser.add_argument("--walks", metavar="START", nargs="*", help=words)
    parser.add_argument("--check", action="store_true", help="fail where an aim is missed")
    return parser.parse_args()


def describe_walk(start: str) -> str:
    """Its figures, then the functions in the order in which it comes through them."""
    names = {module.path.removesuffix(".py").removesuffix("/__init__"): module for module in read_modules(PROJECT)}
    code = Code({name.replace("/", "."): module.tree for name, module in names.items()})
    try:
        walk = Walk(code, start)
    except LookupError as error:
        sys.exit(str(error))
    return "\n  ".join([f"{start}: {walk}", *walk.entered])


def format_table(figures: Sequence[Figure]) -> str:
    rows: list[tuple[str, ...]] = [("figure", "", "Festinger", "aim", "", *PROJECTS)]
    for figure in figures:
        theirs = THEIRS.get(figure.name, ("",) * len(PROJECTS))
        value = f"{show(figure.value)}{figure.unit}"
        rows.append((figure.name, figure.title, value, figure.aim, "missed" if figure.is_missed else "", *theirs))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
