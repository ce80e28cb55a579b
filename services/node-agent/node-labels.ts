import { FleetGcError } from '../../packages/process/errors.ts';

/** Kubernetes' form: an optional prefix with a slash, and a value that may be empty or, in a file, in quotes. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const VALUE = /^"?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|)"?$/;

/**
 * The labels in a file, one `name=value` a line; blank lines and lines that begin with `#` are nothing. Throws
 * `CONFIG_INVALID` that names every line that is no label: with a label missing, another policy could select the node.
 */
export function nodeLabelsIn(content: string, file: string): Readonly<Record<string, string>> {
  const lines = content.split('\n').map((line) => line.trim());
  const labels = lines.filter((line) => line !== '' && !line.startsWith('#')).map(labelIn);
  const wrong = labels.flatMap((label) => (label.value === null ? [label.line] : []));
  if (wrong.length === 0) return Object.fromEntries(labels.map(({ name, value }) => [name, value ?? '']));
  throw new FleetGcError(
    'CONFIG_INVALID',
    `${file} holds node labels, one name=value a line, and these lines are none: ${wrong.join('; ')}`,
  );
}

function labelIn(line: string): {
  readonly line: string;
  readonly name: string;
  readonly value: string | null;
} {
  const at = line.indexOf('=');
  const name = line.slice(0, Math.max(at, 0));
  const value = VALUE.exec(line.slice(at + 1));
  return { line, name, value: NAME.test(name) && value ? (value[1] ?? '') : null };
}
