import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '..');
/** Lint counts neither blank lines nor comments, and so lets longer ones pass. */
const MOST_LINES = 60;

const files = globSync('{bin,cli,packages,schemas,services,sim}/**/*.ts', { cwd: CHECKOUT });

function longFunctions(file: string): readonly string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(CHECKOUT, file), 'utf8'),
    ts.ScriptTarget.Latest,
  );
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const first = lineAt(node.getStart(source));
    const lines = lineAt(node.end) - first + 1;
    if (ts.isFunctionLike(node) && lines > MOST_LINES) found.push(`${file}:${first} has ${lines} lines`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test(`no function has more than ${MOST_LINES} lines as they stand`, () => {
  expect(files.length).toBeGreaterThan(300);
  expect(files.flatMap(longFunctions)).toEqual([]);
});
