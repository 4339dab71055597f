"""Follows one value through the code without running it, as a reader does with a finger on the screen.

What it is put into or turned into carries it: a variable, a loop's variable, an attribute of ``self``, what a call
makes of it; a part of it (``conflict.dim_id``) is another value. A call that hands it over leads on, in the order of
the source, once into each function. Found are names, imports, methods of the same module or with a name of their own
in all the code, and functions that are handed over. What the database, a signal or Celery's queue passes on is not.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, groupby

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Found = tuple[str, FunctionNode]  # module, function
# ``rows.get(...)`` is a dict's far more often than the one method of ours that has this name.
BUILT_IN = {name for kind in (dict, list, set, str) for name in dir(kind)}


class Code:
    """``trees`` by the dotted name of the module."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.trees = trees
        self.imports = {module: dict(find_imports(tree)) for module, tree in trees.items()}
        self.functions: dict[tuple[str, str], FunctionNode] = {}  # by module and name, a class's for its __init__
        self.methods: dict[tuple[str, str], FunctionNode] = {}
        for module, tree in trees.items():
            for node in tree.body:
                if isinstance(node, FunctionNode):
                    self.functions[module, node.name] = node
                elif isinstance(node, ast.ClassDef):
                    methods = {method.name: method for method in node.body if isinstance(method, FunctionNode)}
                    self.methods.update({(module, name): method for name, method in methods.items()})
                    if "__init__" in methods:
                        self.functions[module, node.name] = methods["__init__"]
        self.homes: defaultdict[str, list[str]] = defaultdict(list)  # of a method's name
        for module, name in self.methods:
            self.homes[name].append(module)

    def find(self, module: str, name: str) -> Found | None:
        """The function of that name, also by way of a package that hands it on."""
        if (module, name) in self.functions:
            return module, self.functions[module, name]
        imported = self.imports.get(module, {}).get(name)
        return self.find(*imported) if imported and imported != (module, name) else None

    def find_called(self, module: str, called: ast.expr) -> Found | None:
        if isinstance(called, ast.Name):
            return self.find(module, called.id)
        if not isinstance(called, ast.Attribute):
            return None
        if isinstance(called.value, ast.Name) and called.value.id in self.imports[module]:
            return self.find(".".join(self.imports[module][called.value.id]), called.attr)
        if (module, called.attr) in self.methods and (is_self(called.value) or called.attr not in BUILT_IN):
            return module, self.methods[module, called.attr]
        homes = [] if called.attr in BUILT_IN else self.homes.get(called.attr, [])
        return (homes[0], self.methods[homes[0], called.attr]) if len(homes) == 1 else None

    def find_start(self, start: str) -> tuple[Found, str]:
        """Of ``function:parameter``, with ``module:`` before it where several have the function. Raises LookupError."""
        module, name, parameter = ["", "", *start.split(":")][-3:]
        modules = [module] if module else [module for module, function in self.functions if function == name]
        found = self.find(modules[0], name) if len(modules) == 1 else None
        if found is None or parameter not in list_parameters(found[1]):
            raise LookupError(f"{start} is none of the code's: [module:]function:parameter")
        return found, parameter


class Walk:
    def __init__(self, code: Code, start: str) -> None:
        self.code = code
        self.entered: list[str] = []  # module.function, in order
        self.modules: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()  # module, attribute of self
        found, parameter = code.find_start(start)
        self.enter(found, {parameter}, {})

    def __str__(self) -> str:
        stays, modules = len(list(groupby(self.modules))), len(set(self.modules))
        return f"{stays} stays, {modules} modules, {stays - modules} returns, {len(self.names)} names"

    def enter(self, found: Found, carried: set[str], handed: dict[str, Found]) -> None:
        module, function = found
        if (place := f"{module}.{function.name}:{function.lineno}") in self.entered:
            return
        self.entered.append(place)
        self.modules.append(module)
        self.names |= carried
        for node in order(function):
            if isinstance(node, ast.Call):
                self.call(module, node, carried, handed)
            for target, value in list_bindings(node):
                if self.carries(module, value, carried):
                    self.bind(module, target, carried)

    def carries(self, module: str, value: ast.AST, carried: set[str]) -> bool:
        if isinstance(value, ast.Name):
            return value.id in carried
        if isinstance(value, ast.Attribute):
            return is_self(value.value) and (module, value.attr) in self.attributes
        return any(self.carries(module, part, carried) for part in ast.iter_child_nodes(value))

    def bind(self, module: str, target: ast.expr, carried: set[str]) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                carried.add(part.id)
                self.names.add(part.id)
            elif isinstance(part, ast.Attribute) and is_self(part.value):
                self.attributes.add((module, part.attr))
                self.names.add(part.attr)

    def call(self, module: str, node: ast.Call, carried: set[str], handed: dict[str, Found]) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        found = handed.get(name) or self.code.find_called(module, node.func)
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if found is None or not any(self.carries(module, part, carried) for part in [node, *receiver]):
            return
        parameters = [parameter for parameter in list_parameters(found[1]) if parameter != "self"]
        given = [*zip(parameters, node.args, strict=False), *((word.arg or "", word.value) for word in node.keywords)]
        functions = {
            parameter: function
            for parameter, value in given
            if isinstance(value, ast.Name) and (function := handed.get(value.id) or self.code.find(module, value.id))
        }
        carriers = {parameter for parameter, value in given if parameter and self.carries(module, value, carried)}
        self.enter(found, carriers, functions)


def order(node: ast.AST) -> Iterator[ast.AST]:
    """What is within, about as it is evaluated: a call after its arguments, a loop's body after its variable. A lambda
    that is handed over comes after the call."""
    children = list(ast.iter_child_nodes(node))
    after = node.body if isinstance(node, ast.For | ast.AsyncFor) else [part for part in children if is_lambda(part)]
    before = [part for part in children if part not in after]
    before.sort(key=lambda part: not isinstance(part, ast.comprehension))
    yield from chain.from_iterable(order(part) for part in before)
    yield node
    yield from chain.from_iterable(order(part) for part in after)


def list_bindings(node: ast.AST) -> list[tuple[ast.expr, ast.AST]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
        return [(node.target, node.value)]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [(node.target, node.iter)]
    if isinstance(node, ast.withitem) and node.optional_vars:
        return [(node.optional_vars, node.context_expr)]
    return []


def is_lambda(node: ast.AST) -> bool:
    return isinstance(node, ast.Lambda)


def list_parameters(function: FunctionNode) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def find_imports(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """By the name here: the module it is from, and its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)
