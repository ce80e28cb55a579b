import { parse, YAMLParseError } from 'yaml';
import type { z } from 'zod';
import { FleetGcError } from '../../packages/process/errors.ts';
import { fileText, readTextFile } from '../../packages/process/options/named-file.ts';
import { exceededYamlBound, MAX_YAML_BYTES } from '../../packages/process/options/yaml.ts';
import { plainIssue } from '../../packages/records/parse/parse-record.ts';
import { NOTICE_KINDS } from '../../schemas/notices/notice.ts';
import { type NoticeReceiver, type NoticeRule, NoticeRules } from '../../schemas/notices/notice-rules.ts';

/** A rule file as it was read, or every problem that it has, a sentence each. */
type RulesFile =
  | { readonly ok: true; readonly rules: NoticeRules }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads YAML or JSON, of which YAML is the wider. */
export function readRulesFile(path: string): RulesFile {
  const file = readTextFile(path, MAX_YAML_BYTES);
  return file.ok ? rulesIn(file.text) : failed([`it cannot be read: ${file.reason}`]);
}

export function rulesIn(text: string): RulesFile {
  const value = valueIn(text);
  if (!value.ok) return failed([value.problem]);
  const parsed = NoticeRules.safeParse(value.value, { error: plainIssue });
  if (!parsed.success) return failed(parsed.error.issues.map(issueText));
  const problems = crossProblems(parsed.data);
  return problems.length > 0 ? failed(problems) : { ok: true, rules: parsed.data };
}

/** Throws `CONFIG_INVALID` with every problem. */
export function requireRules(path: string): NoticeRules {
  const file = readRulesFile(path);
  if (file.ok) return file.rules;
  throw new FleetGcError('CONFIG_INVALID', `${fileText(path)}: ${file.problems.join('; ')}`);
}

const failed = (problems: readonly string[]): RulesFile => ({ ok: false, problems });

type Value =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

function valueIn(text: string): Value {
  const exceeded = exceededYamlBound(text);
  if (exceeded !== null) return { ok: false, problem: exceeded };
  try {
    const value: unknown = parse(text, {
      maxAliasCount: 0,
      stringKeys: true,
      prettyErrors: false,
      logLevel: 'error',
    });
    return { ok: true, value: value ?? {} };
  } catch (error) {
    // Its own message quotes what it read, which may be a secret in the wrong place.
    const where = error instanceof YAMLParseError ? ` (line ${lineAt(text, error.pos[0])})` : '';
    return { ok: false, problem: `it is no valid YAML; look at quotes, brackets and indentation${where}` };
  }
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

function issueText(issue: z.core.$ZodIssue): string {
  const { path } = issue;
  const message =
    issue.code === 'unrecognized_keys' ? `there is no setting ${issue.keys.join(', ')}` : issue.message;
  return path.length === 0 ? message : `${pathOf(path)}: ${message}`;
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');

/** What two parts of the file say together. */
function crossProblems({ receivers, rules }: NoticeRules): readonly string[] {
  const names = new Set(receivers.map(({ name }) => name));
  const used = new Set(rules.flatMap(({ to }) => to));
  return [
    ...twice(receivers).map((name) => `receivers: two have the name ${name}`),
    ...twice(rules).map((name) => `rules: two have the name ${name}`),
    ...rules.flatMap(({ name, to }) =>
      to
        .filter((receiver) => !names.has(receiver))
        .map((receiver) => `rule ${name}: there is no receiver ${receiver}`),
    ),
    ...rules.flatMap((rule) => withoutEvents(rule, receivers)),
    ...[...names].filter((name) => !used.has(name)).map((name) => `receiver ${name}: no rule leads to it`),
  ];
}

/** A rule that leads where none of its kinds can be told. */
const withoutEvents = (
  { name, kinds, to }: NoticeRule,
  receivers: readonly NoticeReceiver[],
): readonly string[] =>
  kinds?.some((kind) => NOTICE_KINDS[kind].isNodeEvent) === false
    ? receivers
        .filter((receiver) => receiver.type === 'kubernetes' && to.includes(receiver.name))
        .map(
          (receiver) =>
            `rule ${name}: none of its kinds becomes an Event, and ${receiver.name} takes Events alone`,
        )
    : [];

const twice = (named: readonly { readonly name: string }[]): readonly string[] => {
  const names = named.map(({ name }) => name);
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
};
