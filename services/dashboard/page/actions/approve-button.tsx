import { useState } from 'preact/hooks';
import type { DashboardAction } from '../../../../schemas/reports/dashboard-actions.ts';
import { countText } from '../texts.ts';
import { ActionButton } from './action-button.tsx';

const HOUR_MS = 3_600_000;
const CHOICES_HOURS = [1, 2, 4, 8, 12, 24, 48, 168, 720];

export interface ApproveButtonProps {
  /** What is held, as `fleetgc held` names it; the reader saw so many objects. */
  readonly held: Pick<DashboardAction<'approve'>, 'cluster' | 'name' | 'as' | 'objects' | 'shown'>;
  /** The same in words, such as `owner apps/Deployment shop/web (1f2e…)`. */
  readonly text: string;
  /** How long it needs until all of it has gone, where the policy lets only so many go in an hour. */
  readonly neededHours?: number;
  readonly onDone?: () => void;
}

/** Approves what is held in a cluster, as wide as the reader saw it. */
export function ApproveButton({ held, text, neededHours = 1, onDone }: ApproveButtonProps) {
  const least = CHOICES_HOURS.find((hours) => hours >= neededHours) ?? 720;
  const [hours, setHours] = useState(least);
  return (
    <ActionButton
      action="approve"
      label="Approve"
      title={`Approve ${text} in cluster ${held.cluster}`}
      about={{ ...held, forMs: hours * HOUR_MS }}
      {...(onDone && { onDone })}
    >
      <p>
        Up to {countText(held.objects)} objects may then go, as you see them here. If more are held by now, or
        others, nothing is approved.
      </p>
      <label>
        In force for
        <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
          {CHOICES_HOURS.map((choice) => (
            <option key={choice} value={choice}>
              {choice === 1 ? '1 hour' : `${choice} hours`}
            </option>
          ))}
        </select>
      </label>
    </ActionButton>
  );
}

/** Ends an approval: what it let go and is still there is held again. */
export function WithdrawButton({
  approved,
  text,
  onDone,
}: {
  readonly approved: Pick<DashboardAction<'withdraw'>, 'cluster' | 'name' | 'as'>;
  readonly text: string;
  readonly onDone?: () => void;
}) {
  return (
    <ActionButton
      action="withdraw"
      label="Withdraw"
      title={`Withdraw the approval of ${text} in cluster ${approved.cluster}`}
      about={approved}
      {...(onDone && { onDone })}
    >
      <p>Objects that it allowed to go, and that are still there, are held again.</p>
    </ActionButton>
  );
}
