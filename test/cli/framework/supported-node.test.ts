import { satisfies } from 'semver';
import { describe, expect, test } from 'vitest';
import { isSupportedNode, requireSupportedNode, SUPPORTED_NODE } from '../../../cli/framework/program.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { textOf } from '../../deploy/files.ts';
import { NODE_VERSION } from '../../support/toolchain/versions.ts';
import { inProcess } from '../fleetgc.ts';

const VERSIONS = [
  ['20.20.2', false],
  ['22.23.5', false],
  ['23.11.0', false],
  ['24.9.9', false],
  ['24.21.0', false],
  ['24.22.2', false],
  ['24.22.3', true],
  ['24.22.10', true],
  ['24.23.0', true],
  ['25.9.0', false],
  ['26.9.0', false],
  ['26.12.0', false],
  ['26.12.1', true],
  ['26.13.0', true],
  ['27.0.0', true],
] as const;

/** What `bin/fleetgc` asks the Node.js that it finds on the path. Returns the exit code. */
function launcherAnswer(version: string): number {
  const [, script = ''] = /"\$node" -e '([^']+)'/.exec(textOf('bin/fleetgc')) ?? [];
  let code = -1;
  const exit = (given: number): void => {
    code = given;
  };
  new Function('process', script)({ versions: { node: version }, exit });
  return code;
}

describe('one range of Node.js everywhere', () => {
  test.each(VERSIONS)(
    '%s: supported is %s, for engines, the launcher and the program alike',
    (version, yes) => {
      expect({
        engines: satisfies(version, packageJson.engines.node),
        launcher: launcherAnswer(version) === 0,
        program: isSupportedNode(version),
      }).toEqual({ engines: yes, launcher: yes, program: yes });
    },
  );

  test('every Node.js that is shipped is in it, and so is the one that runs the tests', () => {
    const shipped = Object.entries(packageJson.optionalDependencies)
      .filter(([name]) => name.startsWith('node-linux-'))
      .map(([, version]) => version);
    expect(shipped).toHaveLength(2);
    for (const version of [...shipped, NODE_VERSION, process.versions.node])
      expect(isSupportedNode(version), version).toBe(true);
  });

  test.each(['bin/fleetgc', 'CONTRIBUTING.md', 'docs/operating/platforms.md'])(
    '%s names it in the same words',
    (file) => {
      expect(textOf(file).replace(/\s+/g, ' ')).toContain(SUPPORTED_NODE);
    },
  );

  test('the program refuses another, and says which it needs', async () => {
    expect(() => requireSupportedNode('24.21.0')).toThrow(SUPPORTED_NODE);
    expect(await inProcess(['--version'], {}, 'linux', () => 0, '24.21.0')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('fleetgc: Node.js 24.21.0 is not supported'),
    });
  });
});

/** Names that V8 took for one another before: each as written, and one that was read in its place. */
test.each([
  ['"\\n"', '"\\\\"'],
  ['"\\""', '"\\\\"'],
  ['"\\u0000"', '"\\\\"'],
  ['"a\\"b"', '"a\\\\\\""'],
  ['"\\u0041b"', '"\\\\u"'],
])('JSON.parse reads the name %s as it stands, also where %s was read before', (name, before) => {
  JSON.parse(`{"member before ${name.slice(1)}:[],${before}:0}`);
  expect(JSON.parse(`{"member before ${name.slice(1)}:1,${name}:2}`)).toEqual({
    [`member before ${JSON.parse(name)}`]: 1,
    [JSON.parse(name)]: 2,
  });
});
