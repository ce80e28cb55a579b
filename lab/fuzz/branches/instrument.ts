import { parseAst } from 'rolldown/parseAst';

/** A node of the syntax tree, as far as it is looked at here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;

const DECLARED = 'var fuzzHits=globalThis.fleetgcFuzz.hits,fuzzTouched=globalThis.fleetgcFuzz.touched;';

/**
 * The source with a counter in each branch: blocks, cases, and expressions that may be passed over. `nextBranch` numbers them. All stays
 * on its line.
 */
export function instrument(source: string, nextBranch: () => number): string {
  const insertions: Insertion[] = [];
  const count = (): string => {
    const branch = nextBranch();
    return `fuzzHits[${branch}]++||fuzzTouched.push(${branch})`;
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(item);
      return;
    }
    if (!isNode(value)) return;
    insertions.push(...countersAt(value, count));
    for (const child of Object.values(value)) visit(child);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return `${DECLARED}${inserted(source, insertions)}`;
}

function countersAt(node: Node, count: () => string): readonly Insertion[] {
  switch (node.type) {
    case 'BlockStatement':
      return [{ at: node.start + 1, text: `${count()};` }];
    case 'SwitchCase':
      return firstOf(child(node, 'consequent')).map(({ start }) => ({ at: start, text: `${count()};` }));
    case 'ConditionalExpression':
      return [...wrapped(child(node, 'consequent'), count), ...wrapped(child(node, 'alternate'), count)];
    case 'LogicalExpression':
      return wrapped(child(node, 'right'), count);
    case 'ArrowFunctionExpression':
      return wrapped(child(node, 'body'), count);
    case 'IfStatement':
      return [...braced(child(node, 'consequent'), count), ...braced(child(node, 'alternate'), count)];
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
    case 'WhileStatement':
      return braced(child(node, 'body'), count);
    default:
      return [];
  }
}

const child = (node: Node, name: string): unknown => Object.entries(node).find(([key]) => key === name)?.[1];

const firstOf = (value: unknown): readonly Node[] =>
  Array.isArray(value) && isNode(value[0]) ? [value[0]] : [];

function wrapped(value: unknown, count: () => string): readonly Insertion[] {
  if (!isNode(value) || value.type === 'BlockStatement') return [];
  return [
    { at: value.start, text: `(${count()},` },
    { at: value.end, text: ')' },
  ];
}

function braced(value: unknown, count: () => string): readonly Insertion[] {
  if (!isNode(value) || value.type === 'BlockStatement') return [];
  return [
    { at: value.start, text: `{${count()};` },
    { at: value.end, text: '}' },
  ];
}

/** At one place what closes comes before what opens; what was found first is outside of what was found later. */
function inserted(source: string, insertions: readonly Insertion[]): string {
  const opening = insertions.filter(({ text }) => !isClosing(text));
  const closing = insertions.filter(({ text }) => isClosing(text)).toReversed();
  const ordered = [...closing, ...opening].toSorted((a, b) => a.at - b.at);
  let end = 0;
  let text = '';
  for (const { at, text: added } of ordered) {
    text += source.slice(end, at) + added;
    end = at;
  }
  return text + source.slice(end);
}

const isClosing = (text: string): boolean => text === ')' || text === '}';
