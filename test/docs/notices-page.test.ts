import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NOTICE_KIND_NAMES, NOTICE_KINDS, NoticeEvent } from '../../schemas/notices/notice.ts';
import { NoticeReceiver, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { rulesIn } from '../../services/notices/rules-file.ts';
import { signatureOf } from '../../services/notices/webhook.ts';
import { textOf } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/operating/notices.md');
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, text = '']) => text,
  );
const bare = (cell = ''): string => cell.replaceAll('`', '');

test('every kind of notice has its row', () => {
  const rows = tableRows(page, 'kind').map(([kind, severity, event, words]) => [
    bare(kind),
    severity,
    event,
    words,
  ]);
  expect(rows).toEqual(
    NOTICE_KIND_NAMES.map((kind) => {
      const { severity, isNodeEvent, words } = NOTICE_KINDS[kind];
      return [kind, severity, isNodeEvent ? 'yes' : 'no', `${words}.`];
    }),
  );
});

const namesIn = (heading: string): readonly string[] =>
  tableRows(page, heading).flatMap(([names]) => bare(names).split(', '));

test('every setting of the rule file has its row', () => {
  const ofReceivers = NoticeReceiver.options.flatMap((option) => Object.keys(option.shape));
  expect(namesIn('setting of a receiver').toSorted()).toEqual([...new Set(ofReceivers)].toSorted());
  const { items } = z
    .object({ items: z.object({ properties: z.record(z.string(), z.unknown()) }) })
    .parse(z.toJSONSchema(NoticeRules.shape.rules, { io: 'input' }));
  expect(namesIn('setting of a rule').toSorted()).toEqual(Object.keys(items.properties).toSorted());
});

test('the rule file of the page can be used', () => {
  const [text = ''] = blocksOf('yaml');
  expect(rulesIn(text)).toMatchObject({ ok: true });
});

test('the event of the page is one', () => {
  const [text = ''] = blocksOf('json');
  expect(NoticeEvent.safeParse(JSON.parse(text)).error).toBeUndefined();
});

test('a receiver that verifies as the page says believes what is signed, and nothing else', async () => {
  const [code = ''] = blocksOf('js');
  const path = join(temporaryDirectory(), 'verify.mjs');
  writeFileSync(path, code);
  const { isFromFleetGC } = await import(pathToFileURL(path).href);
  const [secret, next, nowMs] = ['0123456789abcdef', 'fedcba9876543210', Date.UTC(2026, 0, 1)];
  const header = signatureOf('{}', [secret], nowMs);
  const seconds = nowMs / 1000;
  expect(isFromFleetGC(header, '{}', secret, seconds + 299)).toBe(true);
  expect(isFromFleetGC(signatureOf('{}', [secret, next], nowMs), '{}', next, seconds)).toBe(true);
  expect(isFromFleetGC(header, '{} ', secret, seconds)).toBe(false);
  expect(isFromFleetGC(header, '{}', next, seconds)).toBe(false);
  expect(isFromFleetGC(header, '{}', secret, seconds + 301)).toBe(false);
  expect(isFromFleetGC('t=1,v1=', '{}', secret, 1)).toBe(false);
  expect(isFromFleetGC('', '{}', secret, seconds)).toBe(false);
});
