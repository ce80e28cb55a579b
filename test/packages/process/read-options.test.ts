import { expect, test } from 'vitest';
import { z } from 'zod';
import { httpOptions } from '../../../cli/options/common-options.ts';
import {
  FilePath,
  Labels,
  ListenAddress,
  Switch,
  Text,
  TextList,
  WholeNumber,
  withMeta,
} from '../../../packages/process/options/options.ts';
import type { OptionSources } from '../../../packages/process/options/read-options.ts';
import { DurationMs } from '../../../schemas/policy/quantity.ts';
import { loadOptions } from '../../support/load-options.ts';

const Options = z.object({
  cluster: Text,
  kafkaBrokers: TextList.optional(),
  gracePeriod: withMeta(DurationMs.prefault('30s'), { description: 'How long to wait.' }),
  dryRun: Switch.prefault('false'),
  mode: z.enum(['fast', 'slow']).prefault('fast'),
  workers: WholeNumber.prefault('1'),
  httpAddress: ListenAddress.optional(),
  nodeLabels: Labels.optional(),
  files: withMeta(TextList.optional(), { positional: true, placeholder: 'FILE...' }),
});

interface Given {
  readonly flags?: OptionSources['flags'];
  readonly environment?: OptionSources['environment'];
  readonly yaml?: string;
  readonly otherKeys?: readonly string[];
}

const sources = ({ flags = {}, environment = {}, yaml, otherKeys = [] }: Given): OptionSources => ({
  flags,
  environment,
  file: yaml === undefined ? null : { path: 'fleetgc.yaml', text: yaml },
  otherKeys: new Set(otherKeys),
});

const load = (given: Given) => loadOptions(Options, sources({ ...given }));
const loadIn = (given: Given) => load({ ...given, flags: { cluster: 'c', ...given.flags } });

function problemsOf(given: Given): string {
  try {
    load(given);
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', exitCode: 2 });
    return error instanceof Error ? error.message : '';
  }
  return 'no problem';
}

test('a flag is stronger than the environment, and the environment than the file', () => {
  const environment = { FLEETGC_GRACE_PERIOD: '2s', FLEETGC_WORKERS: '2' };
  const yaml = 'gracePeriod: 3s\nworkers: 3\nmode: slow\n';
  expect(loadIn({ flags: { gracePeriod: '1s' }, environment, yaml })).toMatchObject({
    gracePeriod: 1_000,
    workers: 2,
    mode: 'slow',
    dryRun: false,
  });
});

test('an empty variable is as good as none', () => {
  expect(loadIn({ environment: { FLEETGC_WORKERS: '' } }).workers).toBe(1);
});

test('the file is read as text, so that a value means the same from every source', () => {
  const yaml =
    'cluster: 0x10\nworkers: 010\ndryRun: true\nkafkaBrokers: [a:9092, "b:9092"]\nnodeLabels: {}\n';
  expect(problemsOf({ yaml })).toContain('nodeLabels must be a text or a list of texts');
  expect(load({ yaml: yaml.replace('nodeLabels: {}\n', '') })).toMatchObject({
    cluster: '0x10',
    workers: 10,
    dryRun: true,
    kafkaBrokers: ['a:9092', 'b:9092'],
  });
});

test.each<{ name: string; given: Given; expected: Record<string, unknown> }>([
  {
    name: 'a list from commas',
    given: { flags: { kafkaBrokers: 'a, b,' } },
    expected: { kafkaBrokers: ['a', 'b'] },
  },
  {
    name: 'a repeated flag',
    given: { flags: { kafkaBrokers: ['a', 'b,c'] } },
    expected: { kafkaBrokers: ['a', 'b', 'c'] },
  },
  { name: 'a switch', given: { flags: { dryRun: true } }, expected: { dryRun: true } },
  {
    name: 'a switch turned off',
    given: { flags: { dryRun: false }, yaml: 'dryRun: true' },
    expected: { dryRun: false },
  },
  {
    name: 'labels',
    given: { flags: { nodeLabels: 'a=b,c=d=e' } },
    expected: { nodeLabels: { a: 'b', c: 'd=e' } },
  },
  {
    name: 'an address',
    given: { flags: { httpAddress: '[::1]:80' } },
    expected: { httpAddress: { host: '::1', port: 80 } },
  },
  {
    name: 'an address whose family nobody knew',
    given: { flags: { httpAddress: '[10.0.0.7]:9641' } },
    expected: { httpAddress: { host: '10.0.0.7', port: 9641 } },
  },
  {
    name: 'arguments',
    given: { flags: { files: ['a.yaml', 'b.yaml'] } },
    expected: { files: ['a.yaml', 'b.yaml'] },
  },
  { name: 'an empty file', given: { yaml: '# nothing yet\n' }, expected: { workers: 1 } },
  {
    name: 'an option of another verb in the file',
    given: { yaml: 'statePath: /x', otherKeys: ['statePath'] },
    expected: {},
  },
])('understands $name', ({ given, expected }) => {
  expect(loadIn(given)).toMatchObject(expected);
});

test.each<{ name: string; given: Given; message: string }>([
  { name: 'a missing option', given: {}, message: '--cluster is missing' },
  {
    name: 'a wrong flag',
    given: { flags: { cluster: 'c', gracePeriod: '5 minutes' } },
    message:
      '--grace-period must be a duration with a unit, such as 300ms, 90s, 1m30s or 24h, not "5 minutes"',
  },
  {
    name: 'a wrong variable',
    given: { flags: { cluster: 'c' }, environment: { FLEETGC_MODE: 'quick' } },
    message: 'FLEETGC_MODE must be one of fast, slow, not "quick"',
  },
  {
    name: 'a wrong value in the file',
    given: { flags: { cluster: 'c' }, yaml: '\n  workers: many' },
    message: 'fleetgc.yaml:2:3: workers must be a whole number, not "many"',
  },
  {
    name: 'a list where one value belongs',
    given: { flags: { cluster: 'c' }, yaml: 'mode: [fast]' },
    message: 'fleetgc.yaml:1:1: mode must be one of fast, slow, not "fast"',
  },
  {
    name: 'a list where a text belongs',
    given: { yaml: 'cluster: [a, b]' },
    message: 'fleetgc.yaml:1:1: cluster must be one value, not a list',
  },
  {
    name: 'an unknown option in the file',
    given: { flags: { cluster: 'c' }, yaml: 'kafkaBroker: a:9092' },
    message: 'fleetgc.yaml:1:1: kafkaBroker is not an option',
  },
  {
    name: 'an argument in the file',
    given: { flags: { cluster: 'c' }, yaml: 'files: a.yaml' },
    message: 'fleetgc.yaml:1:1: files is not an option',
  },
  {
    name: 'a file that is no map',
    given: { flags: { cluster: 'c' }, yaml: '- a' },
    message: 'fleetgc.yaml: must be a map of options',
  },
  {
    name: 'labels without a value',
    given: { flags: { cluster: 'c', nodeLabels: 'a=b,c' } },
    message: '--node-labels must be pairs of name=value, not "c"',
  },
  {
    name: 'a port that does not exist',
    given: { flags: { cluster: 'c', httpAddress: 'localhost:65536' } },
    message: '--http-address must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, not "localhost:65536"',
  },
  {
    name: 'an address of IPv6 without brackets',
    given: { flags: { cluster: 'c', httpAddress: 'fd00::7:9641' } },
    message: '--http-address must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, not "fd00::7:9641"',
  },
])('says what is wrong with $name, and where', ({ given, message }) => {
  expect(problemsOf(given)).toBe(message);
});

test.each([
  { given: '9999', says: 'not "9999"' },
  { given: 'None', says: 'not "None"' },
])('an address to serve on, or none: $given', ({ given, says }) => {
  const schema = z.object(httpOptions(9640));

  expect(() => loadOptions(schema, sources({ flags: { httpAddress: given } }))).toThrow(
    `--http-address must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, or none, ${says}`,
  );
  expect(loadOptions(schema, sources({ flags: { httpAddress: 'none' } }))).toEqual({ httpAddress: null });
});

test('two problems in three places are told at once', () => {
  const message = problemsOf({
    flags: { workers: 'x' },
    environment: { FLEETGC_MODE: 'quick' },
    yaml: 'gracePeriod: soon\nnoSuch: 1\n',
  });
  expect(message.split('\n')).toEqual([
    '5 problems:',
    '  fleetgc.yaml:2:1: noSuch is not an option',
    '  --cluster is missing',
    expect.stringMatching(/^ {2}fleetgc.yaml:1:1: gracePeriod must be a duration/),
    '  FLEETGC_MODE must be one of fast, slow, not "quick"',
    '  --workers must be a whole number, not "x"',
  ]);
});

test('a broken file says line and column', () => {
  expect(problemsOf({ yaml: 'a: "b\nc: d\n' })).toMatch(
    /fleetgc\.yaml:\d+:\d+: this cannot be read as YAML; look at quotes, brackets and indentation here and just above \(.*quote/,
  );
  expect(problemsOf({ flags: { cluster: 'c' }, yaml: 'mode: fast\nmode: slow\n' })).toMatch(
    /^fleetgc\.yaml:2:1: the same key stands here a second time$/,
  );
});

test('a file that would take long to parse is refused unread', () => {
  expect(problemsOf({ yaml: 'a:\n'.repeat(10_001) })).toMatch(
    /fleetgc\.yaml: it has more than the 10000 colons, commas and question marks/,
  );
});

test.each([
  { signs: 'hyphens', yaml: `${'- '.repeat(501)}a\nb: c\n` },
  { signs: 'question marks', yaml: `${'? '.repeat(501)}a\nb: c\n` },
  { signs: 'colons', yaml: `${'a: '.repeat(501)}b\n---\nc: d\n` },
  { signs: 'spaces', yaml: `a:\n${' '.repeat(501)}b\n` },
])('a file that would take the parser to the end of its stack is refused unread: $signs', ({ yaml }) => {
  expect(problemsOf({ yaml })).toMatch(
    /fleetgc\.yaml: one of its lines has more than the 500 leading spaces/,
  );
});

test('a file with as many levels as may be is read to its end', () => {
  expect(problemsOf({ yaml: `${'- '.repeat(500)}a\n` })).toMatch(/must be a map of options/);
});

test('the path of a file must not be empty', () => {
  const schema = z.object({ path: FilePath });
  expect(() => loadOptions(schema, sources({ flags: { path: '' } }))).toThrow(
    '--path must be the path of a file',
  );
});

test('what a command is about comes from the command line alone', () => {
  const schema = z.object({
    cluster: withMeta(TextList.optional(), { commandLineOnly: true }),
    files: withMeta(TextList.optional(), { positional: true }),
  });
  const environment = { FLEETGC_CLUSTER: 'prod', FLEETGC_FILES: 'x' };

  expect(loadOptions(schema, sources({ environment }))).toEqual({});
  expect(loadOptions(schema, sources({ environment, flags: { cluster: ['test'] } }))).toEqual({
    cluster: ['test'],
  });
});

test.each([
  ['https://user:a-secret@x/y', '"https://…@x/y"'],
  ['https://user:a-sec@ret@x/y', '"https://…@x/y"'],
  ['ftp://x/y?sig=a-secret&b=c', '"ftp://x/y?…"'],
])(
  'a wrong address %s is told without its login and without what stands behind its question mark',
  (mode, told) => {
    const problem = problemsOf({ flags: { cluster: 'c', mode } });
    expect(problem).not.toMatch(/sec/);
    expect(problem).toContain(told);
  },
);
