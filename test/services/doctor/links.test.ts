import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../../deploy/files.ts';
import { anchorsOf } from '../../docs/markdown.ts';

test('what findings refer to stands in the documentation', () => {
  const sources = globSync('services/doctor/*-findings.ts', { cwd: REPOSITORY });
  const named = sources.flatMap((file) => [
    ...readFileSync(join(REPOSITORY, file), 'utf8').matchAll(/(docs\/[a-z/-]+\.md)(?:#([a-z0-9-]+))?/g),
  ]);

  expect(named.length).toBeGreaterThan(5);
  for (const [link, page = '', anchor] of named)
    if (anchor === undefined) expect(textOf(page)).not.toBe('');
    else expect(anchorsOf(textOf(page)), link).toContain(anchor);
});
