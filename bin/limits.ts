/** `npm run limits`: writes docs/how-it-works/limits-and-times.md out of the `@limit` tags of the sources. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const REPOSITORY = join(import.meta.dirname, '..');
export const LIMITS_PAGE = 'docs/how-it-works/limits-and-times.md';

/** Headings of the page, and the folders whose limits stand under them; the first that fits. */
const SECTIONS: readonly (readonly [heading: string, folders: readonly string[]])[] = [
  ['Policies', ['schemas/policy', 'packages/policy']],
  ['Messages', ['schemas/events', 'schemas/keys']],
  ['Nodes', ['services/node', 'schemas/state', 'packages/cri', 'packages/machine']],
  ['Clusters', ['services/cluster', 'packages/kube-api', 'packages/owner-graph']],
  ['Decisions', ['packages/decision', 'packages/deciders', 'packages/service', 'services/deciders']],
  ['Kafka', ['packages/log/kafka']],
  ['Embedded log', ['packages/log/embedded']],
  ['All event logs', ['packages/log', 'packages/records', 'cli/options']],
  ['Processes', ['packages/process', 'packages/tracing']],
  ['Fleet status and dashboard', ['packages/read-model', 'services/dashboard']],
  ['Audit and archive', ['packages/audit', 'packages/archive', 'cli/verbs/audit-archive']],
  ['Notices', ['schemas/notices', 'services/notices']],
  ['Doctor', ['services/doctor']],
];

export interface Limit {
  readonly file: string;
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

const TAGGED =
  /\/\*\*(?:(?!\*\/)[\s\S])*?@limit\s+((?:(?!\*\/)[\s\S])*?)\s*\*\/\s*(?:export )?const (\w+)[^=]*= ([^;]*);/g;

export function limitsIn(file: string, source: string): readonly Limit[] {
  return [...source.matchAll(TAGGED)].map(([, text = '', name = '', initializer = '']) => ({
    file,
    name,
    value: valueIn(name, initializer, source),
    text: text.replace(/\s*\n \* */g, ' '),
  }));
}

const UNITS: Readonly<Record<string, number>> = {
  SECOND_MS: 1_000,
  MINUTE_MS: 60_000,
  HOUR_MS: 3_600_000,
  DAY_MS: 86_400_000,
  MEBIBYTE: 1024 * 1024,
};

/** A number or a product of numbers with its unit; each number of an object; else the text of the source. */
function valueIn(name: string, initializer: string, source: string): string {
  if (initializer.startsWith('{')) return valuesOfMembers(name, initializer, source);
  const product = productOf(initializer, source);
  return Number.isNaN(product) ? `\`${initializer}\`` : withUnit(unitOf(name), product);
}

const LONGEST_VALUE = 125;

function valuesOfMembers(name: string, initializer: string, source: string): string {
  const values = [...initializer.matchAll(/(\w+): ([\d_.]+(?: \* [\w.]+)*)/g)]
    .map(
      ([, member = '', value = '']) =>
        `${member} ${withUnit(unitOf(member, name), productOf(value, source))}`,
    )
    .join(', ');
  return values.length > LONGEST_VALUE ? 'several' : values;
}

function productOf(expression: string, source: string): number {
  return expression
    .split('*')
    .map((factor) => factor.trim())
    .map((factor) =>
      /^-?[\d_.]+$/.test(factor) ? Number(factor.replaceAll('_', '')) : constantOf(factor, source),
    )
    .reduce((product, factor) => product * factor, 1);
}

function constantOf(name: string, source: string): number {
  const initializer = /^\w+$/.test(name) && new RegExp(`const ${name} = ([^;]*);`).exec(source)?.[1];
  return initializer ? productOf(initializer, source) : (UNITS[name] ?? Number.NaN);
}

const unitOf = (...names: readonly string[]): string =>
  names
    .map((name) => /(?:_|[a-z])(MS|Ms|BYTES|Bytes|bytes|SECONDS)(?:_|$)/.exec(name)?.[1]?.toLowerCase())
    .find(Boolean) ?? '';

function withUnit(unit: string, value: number): string {
  if (unit === 'seconds') return withUnit('ms', value * 1_000);
  if (unit === 'ms')
    return scaled(value, [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1_000, 's'],
      [1, 'ms'],
    ]);
  if (unit === 'bytes')
    return scaled(value, [
      [1024 * 1024, 'MiB'],
      [1024, 'KiB'],
      [1, 'B'],
    ]);
  return value.toLocaleString('en-US');
}

/** In the largest unit of which it is a whole multiple. */
function scaled(value: number, units: readonly (readonly [size: number, unit: string])[]): string {
  const [size, unit] = units.find(([each]) => value >= each && value % each === 0) ?? [1, ''];
  return `${(value / size).toLocaleString('en-US')} ${unit}`.trim();
}

const sectionOf = ({ file }: Limit): string | undefined =>
  SECTIONS.find(([, folders]) =>
    folders.some((folder) => file.startsWith(`${folder}/`) || file === `${folder}.ts`),
  )?.[0];

const rowOf = ({ file, name, value, text }: Limit): string =>
  `| ${text} | ${value} | [\`${name}\`](../../${file}) |`;

export function limitsPage(limits: readonly Limit[]): string {
  const lost = limits.filter((limit) => sectionOf(limit) === undefined);
  if (lost.length > 0) throw new Error(`no section for ${lost.map(({ file }) => file).join(', ')}`);
  const sections = SECTIONS.map(([heading]) => {
    const rows = limits.filter((limit) => sectionOf(limit) === heading).map(rowOf);
    return `## ${heading}\n\n| limit | value | constant |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `${INTRODUCTION}\n${sections.join('\n')}`;
}

const INTRODUCTION = `# Limits and times

For developers: the limits that operators notice, and the limits that depend on each other.
\`npm run limits\` generates this page from the \`@limit\` tags in the sources. Do not edit it.

- Defaults of policies are in [Policies](../reference/policies.md), defaults of options in
  \`fleetgc VERB --help\`, and bounds of each topic in [Events](../reference/events.md#bounds).
- Limits in \`schemas/\` apply to old and new messages. If you lower one, messages on the event log
  become unreadable; if you raise one, older processes refuse what exceeds theirs.
- After a change in \`schemas/\` run \`npm run schemas\`. Limits that deciders use are frozen with
  them: run \`npm run freeze\` ([how](../../CONTRIBUTING.md#frozen-deciders)).
- After any change search \`docs/\` for the old value.
`;

/** In the order of their files. */
export const limitsOfSources = (): readonly Limit[] =>
  globSync('{cli,packages,schemas,services}/**/*.ts', { cwd: REPOSITORY })
    .toSorted()
    .flatMap((file) => limitsIn(file, readFileSync(join(REPOSITORY, file), 'utf8')));

if (import.meta.main) writeFileSync(join(REPOSITORY, LIMITS_PAGE), limitsPage(limitsOfSources()));
