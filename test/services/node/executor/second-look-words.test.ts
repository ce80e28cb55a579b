import { describe, expect, test } from 'vitest';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { runtimeImage } from '../../../fixtures/listing.ts';
import { keepList, policyRecord } from '../../../fixtures/policy.ts';
import { MINUTE, NOW } from '../../../fixtures/time.ts';
import { APP, dead, type Given, idle, image, later, TAKEN, verdictOn } from './support/looked.ts';

describe('the object that goes is the one that the command names, whatever else is listed', () => {
  test('an image', () => {
    const listing = { images: [runtimeImage('other'), image()] };
    expect(verdictOn({ listing }, imageRemoval([APP]))).toEqual({
      outcome: 'may-go',
      object: { kind: 'image', image: image() },
    });
  });

  test('a container', () => {
    const listing = { containers: [dead({ id: 'other' }), dead()] };
    expect(verdictOn({ listing }, containerRemoval(['dead']))).toEqual({
      outcome: 'may-go',
      object: { kind: 'container', container: dead() },
    });
  });

  test('a sandbox', () => {
    const listing = { sandboxes: [idle({ id: 'sandbox-0' }), idle()] };
    expect(verdictOn({ listing }, containerRemoval(['sandbox-1']))).toEqual({
      outcome: 'may-go',
      object: { kind: 'sandbox', sandbox: idle() },
    });
  });

  test('logs, which no runtime lists', () => {
    expect(verdictOn({}, logRemoval(['default_web_pod-1']))).toEqual({
      outcome: 'may-go',
      object: { kind: 'pod-log-directory', name: 'default_web_pod-1', podUid: 'pod-1' },
    });
    expect(verdictOn({}, logRemoval(['web.log']))).toEqual({
      outcome: 'may-go',
      object: { kind: 'log-symlink', name: 'web.log' },
    });
  });

  test('[M31] what is not listed is gone, and so needs no removal', () => {
    const others = { images: [runtimeImage('other')], containers: [dead({ id: 'other' })], sandboxes: [] };
    expect(verdictOn({ listing: others }, imageRemoval([APP]))).toEqual({ outcome: 'not-found' });
    expect(verdictOn({ listing: others }, containerRemoval(['dead']))).toEqual({ outcome: 'not-found' });
    expect(verdictOn({ listing: others }, containerRemoval(['sandbox-1']))).toEqual({ outcome: 'not-found' });
  });
});

describe('a refusal says why', () => {
  const ofImage = (given: Omit<Given, 'name'>) =>
    verdictOn({ listing: { images: [image()] }, ...given }, imageRemoval([APP]));
  const twoAnHour = { ...NO_LOCAL_RULES, maxRemovalsPerHour: 2 };

  test.each<{ name: string; given: Omit<Given, 'name'>; message: string }>([
    {
      name: '[M17] an object that failed to go',
      given: { restrictions: { backoff: [{ kind: 'image', id: APP, failures: 3, untilMs: NOW + MINUTE }] } },
      message: 'it failed to go 3 times and is left alone until 2026-01-01T00:01:00.000Z',
    },
    {
      name: 'the limit of removals per hour is reached',
      given: {
        restrictions: {
          local: twoAnHour,
          removalRate: { bootId: TAKEN.bootId, minutes: [{ minute: 24 * 60, removals: 2 }] },
        },
      },
      message: "2 removals in the last hour; the node's own file allows 2",
    },
    {
      name: 'the number of removals was lost, so that nobody knows whether it is reached',
      given: {
        restrictions: {
          local: twoAnHour,
          removalRate: { bootId: TAKEN.bootId, minutes: [], lostMinute: 24 * 60 },
        },
      },
      message: "nobody knows how many removals (journal lost) in the last hour; the node's own file allows 2",
    },
    {
      name: '[C8] a user of the image',
      given: { listing: { images: [image()], containers: [dead({ imageId: APP })] } },
      message: 'container dead uses the image by now',
    },
    {
      name: '[M11] its name in the keep list of the policy',
      given: {
        restrictions: {
          policy: {
            kind: 'enforced',
            record: policyRecord({ keep: keepList({ patterns: ['registry.example/team/*'] }) }),
          },
        },
      },
      message: expect.stringMatching(/^the policy keeps .*registry\.example\/team\/\*/),
    },
    {
      name: "[M11] its name in the node's own file",
      given: { restrictions: { local: { ...NO_LOCAL_RULES, keepPatterns: ['**/app:*'] } } },
      message: expect.stringMatching(/^the node's own file keeps .*\*\*\/app:\*/),
    },
    {
      name: '[M11] what cannot be pulled again',
      given: { listing: { images: [runtimeImage('app', { repoDigests: [] })] } },
      message: expect.stringMatching(/^nobody could pull the image again: \S/),
    },
    {
      name: 'the history of the agent cannot be read',
      given: { history: 'unreadable' },
      message: "the agent's image history cannot be read: damaged",
    },
    {
      name: '[D9] it was used since',
      given: { history: [[APP, 0, TAKEN.sinceBootMs + 1]] },
      message: 'the image was in use after the inventory was taken',
    },
  ])('$name', ({ given, message }) => {
    expect(ofImage(given)).toMatchObject({ outcome: 'refused', message });
  });

  test('[M32] the age of a container that never ran', () => {
    const created = dead({ state: 'created', createdAtNs: BigInt(NOW - 1_000) * 1_000_000n });
    expect(
      verdictOn({ listing: { containers: [created] }, now: later(100) }, containerRemoval(['dead'])),
    ).toEqual({
      outcome: 'refused',
      reason: 'too-young',
      message: 'created 1100 ms ago and not started; the policy waits 60000 ms',
    });
  });

  test('[M32] which the kubelet does not ask', () => {
    const created = dead({ state: 'created', createdAtNs: BigInt(NOW) * 1_000_000n });
    const restrictions = {
      policy: { kind: 'enforced', record: policyRecord({ profile: 'kubelet' }) },
    } as const;
    expect(
      verdictOn({ listing: { containers: [created] }, restrictions }, containerRemoval(['dead'])).outcome,
    ).toBe('may-go');
  });

  test('[H3] the container that is still in a sandbox', () => {
    const listing = {
      sandboxes: [idle()],
      containers: [dead({ id: 'other', sandboxId: 'elsewhere' }), dead({ sandboxId: 'sandbox-1' })],
    };
    expect(verdictOn({ listing }, containerRemoval(['sandbox-1']))).toEqual({
      outcome: 'refused',
      reason: 'has-containers',
      message: 'container dead is still in it',
    });
  });

  test('[I3, K2] the pod of the logs runs', () => {
    const listing = { containers: [dead({ state: 'running' })] };
    expect(verdictOn({ listing }, logRemoval(['default_web_pod-1']))).toEqual({
      outcome: 'refused',
      reason: 'running',
      message: 'container dead of the pod runs',
    });
  });
});
