import { letterContent, type StoredLetter } from '../read-model/letters.ts';
import { originalKey } from '../read-model/project.ts';
import { printable, printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import type { Column } from './document.ts';
import { tableOf } from './text.ts';

/** Without the content, which may be large; `fleetgc dead-letters show` has it. */
export function letterSummary({ letter, valueBytes, diedAtMs, redrivenAtMs }: StoredLetter) {
  const { value, headers, key, ...rest } = letter;
  return {
    ...rest,
    key: originalKey(letter),
    valueBytes,
    diedAt: timeText(diedAtMs),
    redrivenAt: redrivenAtMs === null ? null : timeText(redrivenAtMs),
  };
}

/** Nothing where there are none. */
export const letterTable = (letters: readonly StoredLetter[], isWide: boolean): readonly string[] =>
  letters.length === 0
    ? []
    : tableOf(letters, [
        ['Id', 'name', ({ letter }) => letter.id],
        ['Time', 'time', ({ diedAtMs }) => diedAtMs],
        ['Topic', 'text', ({ letter }) => letter.topic],
        ...(isWide ? WIDE_COLUMNS : []),
        ['Key', 'text', ({ letter }) => originalKey(letter) ?? '(none)'],
        ['Group', 'text', ({ letter }) => letter.group],
        ['Cause', 'text', ({ letter }) => letter.cause],
        [
          'Message',
          'text',
          ({ letter, redrivenAtMs }) => `${redrivenAtMs === null ? '' : '(put back) '}${letter.message}`,
        ],
      ]);

const WIDE_COLUMNS: readonly Column<StoredLetter, string, string | number>[] = [
  ['Position', 'text', ({ letter }) => `${letter.partition}@${letter.offset}`],
  ['Bytes', 'count', ({ valueBytes }) => valueBytes],
  ['Put back', 'time', ({ redrivenAtMs }) => redrivenAtMs ?? '-'],
];

const NAME_WIDTH = 14;

/** Everything there is to know about one dead letter. */
export function letterLines({ letter, diedAtMs, redrivenAtMs }: StoredLetter): readonly string[] {
  const { id, cause, message, group, topic, partition, offset, timestampMs, suppressedBefore } = letter;
  const field = (name: string, value: string): string => `${name.padEnd(NAME_WIDTH)}${printableLine(value)}`;
  return [
    field('id', id),
    field('cause', `${cause}: ${message}`),
    field('given up', `${timeText(diedAtMs)} by ${group}`),
    field('message', `${topic} partition ${partition} offset ${offset}, ${timeText(timestampMs)}`),
    field('key', originalKey(letter) ?? '(none)'),
    field('put back', redrivenAtMs === null ? 'no' : timeText(redrivenAtMs)),
    ...(suppressedBefore === 0
      ? []
      : [field('only counted', `${suppressedBefore} more of this key before it, which were not kept`)]),
    ...Object.entries(letter.headers).map(([name, value]) => field('header', `${name}: ${value}`)),
    '',
    ...contentLines(letter),
  ];
}

function contentLines(letter: StoredLetter['letter']): readonly string[] {
  const content = letterContent(letter);
  switch (content.kind) {
    case 'omitted':
      return [
        `The content of ${content.bytes} bytes was too large to be kept here; it lies at its position.`,
      ];
    case 'none':
      return ['(no value)'];
    case 'empty':
      return ['(empty value)'];
    case 'bytes':
      return [`${content.bytes} bytes that are not text, in base64:`, content.base64];
    case 'text':
      return printable(content.text).split('\n');
  }
}
