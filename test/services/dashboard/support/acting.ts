import type { EventLog } from '../../../../packages/log/port.ts';
import type { PolicyWriter } from '../../../../packages/policy/write-policies.ts';
import { randomTraceIds } from '../../../../packages/process/system-sources.ts';
import { newTrace } from '../../../../packages/process/trace.ts';
import { UNSIGNED_STATE } from '../../../../packages/records/trust/state-signer.ts';
import type { ActingPort } from '../../../../services/dashboard/actions/desk.ts';
import type { ActingLog } from '../../../../services/dashboard/actions/perform.ts';

/** Writes there without keys. */
export const unsignedWriter = (log: ActingLog): PolicyWriter => ({
  log,
  publication: { source: '/fleetgc/dashboard', nowMs: Date.now(), trace: newTrace(randomTraceIds) },
  signer: UNSIGNED_STATE,
});

/** Acts on this log without keys; `opened` counts how often. */
export function actingOn(log: EventLog): ActingPort & { readonly opened: () => number } {
  let opened = 0;
  return {
    roots: null,
    opened: () => opened,
    openLog: async () => {
      opened += 1;
      return { ...log, [Symbol.asyncDispose]: async () => undefined };
    },
    openWriter: async (own) => unsignedWriter(own),
  };
}
