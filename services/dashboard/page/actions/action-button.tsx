import { useId, useState } from 'preact/hooks';
import type { DashboardActionName } from '../../../../schemas/reports/dashboard-actions.ts';
import { useActions } from '../session.ts';
import { ActionDialog } from './action-dialog.tsx';
import type { ActionButtonProps } from './action-props.ts';

/** Asks whether to do something, and why, and has it done. Whoever may not sees why. */
export function ActionButton<Name extends DashboardActionName>(props: ActionButtonProps<Name>) {
  const { label, title } = props;
  const actions = useActions();
  const [isOpen, setOpen] = useState(false);
  const why = useId();
  return (
    <>
      <button
        type="button"
        aria-label={`${label}: ${title}`}
        aria-disabled={!actions.allowed}
        aria-describedby={actions.allowed ? undefined : why}
        onClick={() => setOpen(actions.allowed)}
      >
        {label}
      </button>
      {actions.allowed ? null : (
        <span id={why} class="unseen">
          {actions.why}
        </span>
      )}
      {isOpen ? <ActionDialog {...props} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

/** Why the buttons of a view do nothing, once for all of them. */
export function ActionsNote() {
  const actions = useActions();
  return actions.allowed ? null : <p class="quiet">You cannot use these buttons: {actions.why}.</p>;
}
