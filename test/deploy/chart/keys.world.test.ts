import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createKeyPair } from '../../../packages/records/trust/key-pair.ts';
import { readKeyFile } from '../../../packages/records/trust/private-key.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verbNamed } from '../files.ts';
import { LEAST, refusal, rendered } from './helm.ts';
import { objects, operatorPod, workloads } from './objects.ts';

const settingsOf = (made: typeof objects): ReadonlyMap<string, string> =>
  new Map(
    made.flatMap(({ kind, metadata, ...rest }) =>
      kind === 'ConfigMap' && metadata.name === 'fleetgc' ? Object.entries(Data.parse(rest).data) : [],
    ),
  );
const Data = z.object({ data: z.record(z.string(), z.string()) });
const settings = settingsOf(objects);
const pods = [
  ...workloads.map(({ metadata, spec }) => ({ name: metadata.name, pod: spec.template.spec })),
  ...operatorPod.map((pod) => ({ name: 'fleetgc-operator', pod })),
];
const containersOf = ({ pod }: (typeof pods)[number]) =>
  'initContainers' in pod ? [...pod.initContainers, ...pod.containers] : pod.containers;
const all = pods.flatMap((each) =>
  containersOf(each).map((container) => ({
    name: `${each.name}: ${container.args.join(' ')}`,
    container,
    verb: verbOf(container.args),
    volumes: new Map(each.pod.volumes.map((volume) => [volume.name, volume])),
  })),
);

function verbOf([first = '', second = '']: readonly string[]) {
  return ['topics', 'keys', 'policy', 'cluster'].includes(first)
    ? verbNamed(`${first} ${second}`)
    : verbNamed(first);
}

/** Nodes and clusters may sign what they report, and a dashboard what people do; as shipped they do not. */
const mustSign = ({ name, options }: ReturnType<typeof verbOf>): boolean =>
  options.some(({ key }) => key === 'signingKeyFile') && !/^(node|cluster |dashboard)/.test(name);

test('signatures are required unless somebody says otherwise, and without roots nothing is installed', async () => {
  expect(settingsOf(await rendered(LEAST)).get('FLEETGC_TRUST')).toBe('required');
  expect(await refusal({ ...LEAST, trust: {} })).toMatch(/trust\.roots is empty.*fleetgc keys roots/);
});

test.each([
  ['in quotes', 'off'],
  ['as YAML reads it without', false],
])(
  'without signatures, off %s, no pod has roots or a key, and the operator publishes none',
  async (_, mode) => {
    const made = await rendered({
      ...LEAST,
      trust: { mode },
      operator: { statements: '{}\n', policy: 'name: a\n' },
    });
    expect(settingsOf(made).get('FLEETGC_TRUST')).toBe('off');
    expect(JSON.stringify(made).replaceAll('checksum/roots', '')).not.toMatch(
      /signing|roots|SIGNING|ROOTS|statements\/keys/,
    );
  },
);

describe.each(all)('$name', ({ container, verb, volumes }) => {
  const takes = (key: string): boolean => verb.options.some((option) => option.key === key);
  const volumeAt = (path: string | undefined) =>
    volumes.get(
      container.volumeMounts.find(({ mountPath }) => path?.startsWith(`${mountPath}/`))?.name ?? '',
    );

  test('has the roots if it believes anybody', () => {
    const roots = volumeAt(settings.get('FLEETGC_TRUST_ROOTS'));
    expect(roots?.configMap?.name).toBe(takes('trustRoots') ? 'fleetgc-roots' : undefined);
  });

  test('has a key if it has to sign, which only its group may read and without which it does not start', () => {
    const file = container.env.find(({ name }) => name === 'FLEETGC_SIGNING_KEY_FILE')?.value;
    if (!mustSign(verb)) {
      expect(file).toBeUndefined();
      expect(container.volumeMounts.map(({ name }) => name)).not.toContain('signing');
      return;
    }
    const secret = volumeAt(file)?.secret;
    expect(secret).toMatchObject({
      secretName: expect.stringMatching(/^fleetgc-signing-/),
      optional: false,
    });
    expect(readable(secret?.defaultMode ?? 0o644)).toBe(true);
  });
});

/** Whether a process would use a key in a file of this mode. */
function readable(mode: number): boolean {
  const path = join(temporaryDirectory(), 'key.pem');
  const { privateKeyPem, publicKey } = createKeyPair();
  writeFileSync(path, privateKeyPem);
  chmodSync(path, mode);
  return readKeyFile(path).publicKey === publicKey;
}
