import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NOTICE_KIND_NAMES, NOTICE_KINDS, NoticeEvent } from '../../schemas/notices/notice.ts';
import { NoticeReceiver, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { rulesIn } from '../../services/notices/rules-file.ts';
import { signatureHeaders } from '../../services/notices/webhook.ts';
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
  const library = pathToFileURL(createRequire(import.meta.url).resolve('standardwebhooks'));
  writeFileSync(path, code.replace("'standardwebhooks'", JSON.stringify(library)));
  const { eventOf } = await import(pathToFileURL(path).href);
  const [bytes, next] = [Buffer.alloc(24, 'a'), Buffer.alloc(24, 'b')];
  const secretOf = (key: Buffer): string => `whsec_${key.toString('base64')}`;
  const headersAt = (nowMs: number, secrets = [bytes]) =>
    signatureHeaders('{}', { id: 'one', secrets, nowMs });
  const now = Date.now();
  expect(eventOf(headersAt(now - 290_000), '{}', secretOf(bytes))).toEqual({});
  expect(eventOf(headersAt(now, [bytes, next]), '{}', secretOf(next))).toEqual({});
  expect(() => eventOf(headersAt(now), '{} ', secretOf(bytes))).toThrow(/signature/);
  expect(() => eventOf(headersAt(now), '{}', secretOf(next))).toThrow(/signature/);
  expect(() => eventOf(headersAt(now - 310_000), '{}', secretOf(bytes))).toThrow(/too old/);
  expect(() => eventOf({}, '{}', secretOf(bytes))).toThrow(/headers/);
});
