import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

/**
 * What no import shows (the imports: `npm run arrows`): globals of Node.js through which a file asks the time, chance, or the
 * machine.
 */
const CHECKOUT = join(import.meta.dirname, '..');
const PURE = [
  'schemas/*/*.ts',
  'packages/deciders/{image-gc,container-gc,pressure}/{decide,plan-images}.ts',
  'packages/deciders/*/rules/**/*.ts',
  'packages/owner-graph/*.ts',
  'packages/decision/**/*.ts',
  'packages/plan/{plan,pass,trigger}.ts',
];
/** A program, which writes the JSON Schemas into the repository. */
const PROGRAMS = ['schemas/generate.ts'];
const IMPURE = new Set([
  'performance',
  'process',
  'fetch',
  'crypto',
  'setTimeout',
  'setInterval',
  'setImmediate',
]);

const filesOf = (patterns: readonly string[]): string[] =>
  globSync([...patterns], { cwd: CHECKOUT, exclude: PROGRAMS }).toSorted();

/** What of a text reads the time, chance or the machine, in the order of the text. */
function impureIn(text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isImpure(node)) found.push(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true));
  return found;
}

function isImpure(node: ts.Node): boolean {
  if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length;
  if (ts.isPropertyAccessExpression(node)) return ['Date.now', 'Math.random'].includes(node.getText());
  return ts.isIdentifier(node) && IMPURE.has(node.text) && !isName(node);
}

/** As in `settings.process` and `{ process: 1 }`. */
const isName = (node: ts.Identifier): boolean => 'name' in node.parent && node.parent.name === node;

describe('a decision reads no clock, no chance and no machine', () => {
  test.each(filesOf(PURE))('%s', (file) => {
    expect(impureIn(readFileSync(join(CHECKOUT, file), 'utf8'))).toEqual([]);
  });
});

test.each(PURE)('%s names files that are there', (pattern) => {
  expect(filesOf([pattern])).not.toEqual([]);
});

test.each([
  ['const at = Date.now();', ['Date.now']],
  ['const at = new Date();', ['new Date()']],
  ['const at = new Date(event.takenAt);', []],
  ['const chance = Math.random() + Math.max(1, 2);', ['Math.random']],
  ['const limit = process.env.LIMIT;', ['process']],
  ['const of = { performance: settings.process }; // Date.now()', []],
  ['setTimeout(go, performance.now())', ['setTimeout', 'performance']],
])('%s', (text, found) => {
  expect(impureIn(text)).toEqual(found);
});

test('the environment is read where a process begins, and nowhere else', () => {
  const readers = filesOf(['{cli,packages,schemas,services,lab/demo,lab/sim}/**/*.ts']).filter((file) =>
    readFileSync(join(CHECKOUT, file), 'utf8').includes('process.env'),
  );
  expect(readers).toEqual(['cli/lambda/handler.ts', 'cli/main.ts']);
});

/** The platform, which would serve another product as well: what FleetGC is about has no word there. */
const PLATFORM = ['packages/{process,files,text,canonical}/**/*.ts'];
const DOMAIN_WORDS =
  /\b(images?|containers?|containerd|cri|sandbox(es)?|pods?|kubelets?|nodes?|clusters?|fleets?|agents?|executors?|deciders?|decisions?|reclaims?|polic(y|ies)|inventor(y|ies)|kafka|brokers?|topics?)\b/gi;
/** The closed list of error codes is the product's; all that the platform makes of them is a number and a yes or no. */
const CODES = 'packages/process/errors.ts';
/** What YAML calls its parts, and an example of an option. */
const ALLOWED_FOR_OPTIONS = ['node', 'kafka', 'brokers'];

/** Names are read as their words; the product's own name, and that of Node.js, are none of its domain. */
function domainWordsIn(text: string): string[] {
  const words = text
    .replaceAll(/fleetgc/gi, '')
    .replaceAll(/\bnode[:_-]\w+|\bNode(\.js|['’]s)/g, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ');
  return [...new Set(words.match(DOMAIN_WORDS)?.map((word) => word.toLowerCase()))];
}

test.each(filesOf(PLATFORM).filter((file) => file !== CODES))('%s speaks no word of the domain', (file) => {
  const allowed = file.startsWith('packages/process/options/') ? ALLOWED_FOR_OPTIONS : [];
  const found = domainWordsIn(readFileSync(join(CHECKOUT, file), 'utf8'));
  expect(found.filter((word) => !allowed.includes(word))).toEqual([]);
});

test.each([
  ['const imageStore = 1;', ['image']],
  ['TOPICS_MISSING', ['topics']],
  ["import { join } from 'node:path'; // FleetGC on Node.js", []],
  ['for (const node of cluster)', ['node', 'cluster']],
])('words of the domain in: %s', (text, found) => {
  expect(domainWordsIn(text)).toEqual(found);
});
