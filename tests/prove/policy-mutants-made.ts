import ts from "typescript";

/** One change of a source, and where it is. */
export interface Mutant {
  readonly line: number;
  readonly what: string;
  /** The whole source, with the change. */
  readonly source: string;
}

const otherOperator: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "&&": ["||"],
  "||": ["&&"],
  ">=": [">", "<"],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  "<": ["<=", ">="],
};
const decisions = ["allowed", "ask", "blocked"];

interface Change {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** Every single change that could turn a policy into another. Types and words for people are left alone. */
export function mutantsOf(source: string): readonly Mutant[] {
  const file = ts.createSourceFile("policy.ts", source, ts.ScriptTarget.ES2023, true);
  const changes: Change[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) return;
    changes.push(...changesAt(node, source));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return changes.map(({ start, end, by }) => ({
    line: file.getLineAndCharacterOfPosition(start).line + 1,
    what: `${shortened(source.slice(start, end))} becomes ${shortened(by)}`,
    source: source.slice(0, start) + by + source.slice(end),
  }));
}

/** As Node would read it. */
export function compiled(source: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}

function changesAt(node: ts.Node, source: string): readonly Change[] {
  const text = (one: ts.Node) => source.slice(one.getStart(), one.getEnd());
  const replaced = (one: ts.Node, by: string): Change => ({ start: one.getStart(), end: one.getEnd(), by });
  if (ts.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const operators = otherOperator[operatorToken.getText()] ?? [];
    const isLogical = ["&&", "||"].includes(operatorToken.getText());
    // Either half of a condition may be forgotten.
    const halves = isLogical ? [replaced(node, text(left)), replaced(node, text(right))] : [];
    return [...operators.map((operator) => replaced(operatorToken, operator)), ...halves];
  }
  if (ts.isConditionalExpression(node)) {
    const { condition, whenTrue, whenFalse } = node;
    return [
      replaced(node, `${text(condition)} ? ${text(whenFalse)} : ${text(whenTrue)}`),
      replaced(node, text(whenTrue)),
      replaced(node, text(whenFalse)),
    ];
  }
  if (ts.isIfStatement(node)) {
    return [replaced(node.expression, "true"), replaced(node.expression, "false")];
  }
  if (ts.isCallExpression(node) && decisions.includes(text(node.expression))) {
    const others = decisions.filter((name) => name !== text(node.expression));
    return others.map((name) => replaced(node.expression, name));
  }
  if (ts.isArrayLiteralExpression(node)) return [...lackingOne(node, source), ...twoSwapped(node, text)];
  if (ts.isNumericLiteral(node)) return [replaced(node, String(Number(node.text) + 1))];
  return [];
}

function lackingOne(list: ts.ArrayLiteralExpression, source: string): readonly Change[] {
  return list.elements.map((element) => {
    const comma = source.indexOf(",", element.getEnd());
    return { start: element.getStart(), end: comma + 1, by: "" };
  });
}

function twoSwapped(list: ts.ArrayLiteralExpression, text: (one: ts.Node) => string): readonly Change[] {
  return list.elements.slice(1).map((second, at) => {
    const first = list.elements[at]!;
    return { start: first.getStart(), end: second.getEnd(), by: `${text(second)}, ${text(first)}` };
  });
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  return line === "" ? "nothing" : line.length <= 60 ? line : `${line.slice(0, 28)} … ${line.slice(-28)}`;
}
