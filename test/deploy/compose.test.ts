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
