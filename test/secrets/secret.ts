import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Something that only a file may hold, and what it looks like in other clothes. */
export interface Secret {
  readonly file: string;
  readonly value: string;
}

/** A secret that nothing else can look like, in a file of its own; its characters differ in every encoding. */
export function secretIn(directory: string, name: string): Secret {
  const value = secretValue(name);
  const file = join(directory, name);
  writeFileSync(file, `${value}\n`, { mode: 0o600 });
  return { file, value };
}

export const secretValue = (name: string): string => `${name}/+=&?%~${randomBytes(12).toString('hex')}`;

/** Where the secret shows in a text: as it is, or as something that anybody can turn back into it. */
export const showsIn = (text: string, { value }: Secret): readonly string[] =>
  Object.entries(formsOf(value))
    .filter(([, forms]) => forms.some((form) => text.includes(form)))
    .map(([name]) => name);

const formsOf = (value: string): Readonly<Record<string, readonly string[]>> => ({
  plain: [value],
  json: [JSON.stringify(value).slice(1, -1)],
  'url-encoded': [
    encodeURIComponent(value),
    encodeURI(value),
    new URLSearchParams({ value }).toString().slice(6),
  ],
  hex: [Buffer.from(value).toString('hex')],
  base64: (['base64', 'base64url'] as const).flatMap((encoding) =>
    [0, 1, 2].map((before) => base64Within(value, before, encoding)),
  ),
});

/** What base64 makes of it behind so many other bytes, without the characters that the bytes around it share. */
function base64Within(value: string, before: number, encoding: 'base64' | 'base64url'): string {
  const encoded = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]).toString(encoding);
  const whole = encoded.replace(/=+$/, '');
  return whole.slice(before === 0 ? 0 : before + 1, whole.length - 1);
}
