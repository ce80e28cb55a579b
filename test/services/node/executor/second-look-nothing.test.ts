import { describe, expect, test } from 'vitest';
import type { Instant } from '../../../../schemas/events/time.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { policyRecord } from '../../../fixtures/policy.ts';
import { instant, SECOND } from '../../../fixtures/time.ts';
import { APP, type Given, idle, image, later, look, TAKEN } from './support/looked.ts';

describe('nothing goes', () => {
  const lastAction = (at: Instant) => ({
    lastActions: { ...EMPTY_JOURNAL.lastActions, image: { at, commandId: 'other' } },
  });

  test.each<Given & { readonly reason: string }>([
    { name: 'at the end of the command', now: later(60 * SECOND), reason: 'expired' },
    { name: 'after a reboot', now: instant({ bootId: 'another' }), reason: 'other-boot' },
    {
      name: 'on an inventory from the future',
      now: instant({ sinceBootMs: TAKEN.sinceBootMs - 1 }),
      reason: 'taken-in-the-future',
    },
    { name: 'after a later action on images', restrictions: lastAction(later(50)), reason: 'superseded' },
    { name: 'after an action of the same instant', restrictions: lastAction(TAKEN), reason: 'superseded' },
    {
      name: 'while the node is paused',
      restrictions: { policy: { kind: 'paused', pause: { reason: 'maintenance' } } },
      reason: 'paused',
    },
    {
      name: 'while a pause could be hidden',
      restrictions: { policy: { kind: 'unreadable', message: 'no broker' } },
      reason: 'held',
    },
    {
      name: 'while another policy is in force here than the one that decided',
      restrictions: { policy: { kind: 'enforced', record: { ...policyRecord(), hash: 'e'.repeat(64) } } },
      reason: 'policy-not-in-force',
    },
    {
      name: 'while no policy selects the node, or none that says enforce',
      restrictions: { policy: { kind: 'not-enforced', message: 'none' } },
      reason: 'policy-not-in-force',
    },
    {
      name: "while the node's own file holds",
      restrictions: { local: { ...NO_LOCAL_RULES, hold: true } },
      reason: 'held',
    },
    {
      name: "while the node's own file cannot be understood",
      restrictions: { local: { kind: 'held', message: 'no YAML' } },
      reason: 'held',
    },
    {
      name: 'at the limit of removals per hour',
      restrictions: {
        local: { ...NO_LOCAL_RULES, maxRemovalsPerHour: 2 },
        removalRate: { bootId: TAKEN.bootId, minutes: [{ minute: 24 * 60 - 59, removals: 2 }] },
      },
      reason: 'rate-limited',
    },
    {
      name: 'at a limit of 0 removals per hour',
      restrictions: { local: { ...NO_LOCAL_RULES, maxRemovalsPerHour: 0 } },
      reason: 'rate-limited',
    },
  ])('$name', ({ reason, name: _, ...given }) => {
    const listing = { images: [image()] };
    expect(look({ ...given, listing }, imageRemoval([APP]))).toBe(reason);
  });

  test('of sandboxes while only actions on containers overtook the command', () => {
    const restrictions = {
      lastActions: { ...EMPTY_JOURNAL.lastActions, sandbox: { at: later(50), commandId: 'other' } },
    };
    const command = containerRemoval(['sandbox-1', 'dead']);
    expect(look({ restrictions, listing: { sandboxes: [idle()] } }, command)).toBe('superseded');
  });
});
