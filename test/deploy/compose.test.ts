import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { textOf, verbNamed } from './files.ts';

const Service = z.object({
  image: z.string(),
  build: z.string().optional(),
  pull_policy: z.string().optional(),
  command: z.array(z.string()).default([]),
  restart: z.string().optional(),
  stop_grace_period: z.string().optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  depends_on: z
    .union([z.array(z.string()), z.record(z.string(), z.object({ condition: z.string() }))])
    .default([]),
});
const { services } = z
  .object({ services: z.record(z.string(), Service) })
  .parse(parse(textOf('docker-compose.yml'), { merge: true }));
const ours = Object.values(services).filter(({ image }) => image.includes('fleetgc'));

test('one service builds the image of all, and none asks a registry for it', () => {
  expect(new Set(ours.map(({ image }) => image)).size).toBe(1);
  expect(ours.filter(({ build }) => build !== undefined)).toMatchObject([
    { build: '.', pull_policy: 'build' },
  ]);
  const others = ours.filter(({ build }) => build === undefined);
  expect(others.filter(({ pull_policy }) => pull_policy !== 'never')).toEqual([]);
});

test('each service that stays has time to stop in order', () => {
  const staying = ours.filter(({ restart }) => restart !== undefined);
  expect(staying).toHaveLength(9);
  for (const { command, stop_grace_period: grace = '' } of staying)
    expect(parseDurationMs(grace)).toBeGreaterThan(verbNamed(command[0] ?? '').shutdownLimitMs);
});

test('the image runs read-only, without any capability, and cannot get one', () => {
  expect(ours.length).toBeGreaterThan(10);
  for (const service of ours)
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
});

const ROOTS = 'roots:/etc/fleetgc/roots:ro';
const TOLD_APART: Readonly<Record<string, readonly string[]>> = {
  topics: [],
  keys: [
    'root-key:/etc/fleetgc/root',
    'roots:/etc/fleetgc/roots',
    'decider-key:/etc/fleetgc/decider',
    'operator-key:/etc/fleetgc/operator',
  ],
  policy: [ROOTS, 'operator-key:/etc/fleetgc/operator:ro'],
  fleetgc: [ROOTS, 'operator-key:/etc/fleetgc/operator:ro'],
  decider: [ROOTS, 'decider-key:/etc/fleetgc/decider:ro'],
  node: [ROOTS],
};
const DECIDER = /^(?:pressure|container-gc|image-gc)-\d$/;
const kindOf = (name: string): string => name.replace(DECIDER, 'decider').replace(/^node-\d$/, 'node');

test.each(Object.entries(services).filter(([, { image }]) => image.includes('fleetgc')))(
  '%s requires signatures, and has the keys that it needs and no other',
  (name, { environment, volumes }) => {
    const mounted = TOLD_APART[kindOf(name)];
    const [, , signing] = /^(\w+)-key:(\S+):ro$/.exec(mounted?.at(-1) ?? '') ?? [];
    expect(volumes.filter((volume) => !volume.startsWith('./'))).toEqual(mounted);
    expect(environment.FLEETGC_TRUST).toBe('required');
    expect(environment.FLEETGC_TRUST_ROOTS).toBe('/etc/fleetgc/roots/roots.yaml');
    expect(environment.FLEETGC_SIGNING_KEY_FILE?.replace(/\/\w+\.pem$/, '')).toBe(signing);
  },
);

test('the root is nowhere but where keys are made, once the topics are there and before anything needs one', () => {
  const rooted = Object.entries(services).filter(([, { volumes }]) =>
    volumes.some((volume) => volume.startsWith('root-key:')),
  );
  expect(rooted.map(([name]) => name)).toEqual(['keys']);
  const completed = (name: string) => ({ [name]: { condition: 'service_completed_successfully' } });
  expect(services.keys?.depends_on).toEqual(completed('topics'));
  expect(services.policy?.depends_on).toEqual(completed('keys'));
  for (const { restart, depends_on } of ours)
    if (restart !== undefined) expect(depends_on).toEqual(completed('policy'));
});
