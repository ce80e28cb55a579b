const LINE =
  /^Principal = (.+) is (Allowed|Denied) operation = (\w+) from host = \S+ on resource = (\w+):LITERAL:(\S+) for request = /;

const OPERATIONS: Readonly<Record<string, string>> = {
  READ: 'Read',
  WRITE: 'Write',
  CREATE: 'Create',
  DESCRIBE: 'Describe',
  DESCRIBE_CONFIGS: 'DescribeConfigs',
};

/** What was answered so to whom, as `User:nodes Read topic gc.policies`. */
const answered = (answer: 'Allowed' | 'Denied', lines: readonly string[]): ReadonlySet<string> =>
  new Set(
    lines.flatMap((line) => {
      const [, principal, found, operation = '', type = '', name] = LINE.exec(line) ?? [];
      return found === answer
        ? [`${principal} ${OPERATIONS[operation] ?? operation} ${type.toLowerCase()} ${name}`]
        : [];
    }),
  );

export const allowedIn = (lines: readonly string[]): ReadonlySet<string> => answered('Allowed', lines);
export const deniedIn = (lines: readonly string[]): ReadonlySet<string> => answered('Denied', lines);
