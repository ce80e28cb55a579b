import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type {
  DashboardActionDone,
  DashboardActionName,
} from '../../../../schemas/reports/dashboard-actions.ts';
import { askFor, newId } from './acting.ts';
import type { ActionButtonProps } from './action-props.ts';

/** As the API wants it. */
const NEEDS_REASON: Readonly<Record<DashboardActionName, boolean>> = {
  pause: true,
  resume: false,
  approve: true,
  withdraw: false,
  redrive: false,
};
const MOST_REASON_LENGTH = 1_000;

interface ActionDialogProps<Name extends DashboardActionName> extends ActionButtonProps<Name> {
  readonly onClose: () => void;
}

/** Closed by the Escape key too, as the browser does it; it keeps the focus, and gives it back. */
export function ActionDialog<Name extends DashboardActionName>(props: ActionDialogProps<Name>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [done, setDone] = useState<DashboardActionDone | null>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const onClose = (): void => {
    props.onClose();
    if (done !== null) props.onDone?.();
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{props.title}</h2>
      {done === null ? (
        <Question {...props} onDone={setDone} onCancel={() => dialog.current?.close()} />
      ) : (
        <Outcome done={done} onClose={() => dialog.current?.close()} />
      )}
    </dialog>
  );
}

interface QuestionProps<Name extends DashboardActionName> extends Omit<ActionButtonProps<Name>, 'onDone'> {
  readonly onDone: (done: DashboardActionDone) => void;
  readonly onCancel: () => void;
}

function Question<Name extends DashboardActionName>({
  action,
  about,
  label,
  children,
  onDone,
  onCancel,
}: QuestionProps<Name>) {
  const id = useRef(newId());
  const [reason, setReason] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (about === null || isAsking) return;
    setAsking(true);
    setProblem(null);
    const answered = await askFor(action, about, { id: id.current, reason: reason.trim() });
    setAsking(false);
    if (answered.kind === 'answered') onDone(answered.value);
    else if (answered.kind === 'refused') setProblem(answered.problem);
  };
  const isNeeded = NEEDS_REASON[action];
  return (
    <form onSubmit={submit}>
      {children}
      <label>
        {isNeeded
          ? 'Why, for whoever looks at it later'
          : 'Why, for whoever looks at it later (may stay empty)'}
        <textarea
          value={reason}
          required={isNeeded}
          maxLength={MOST_REASON_LENGTH}
          rows={2}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {problem === null ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        <button type="submit" aria-disabled={about === null || isAsking}>
          {isAsking ? 'Waiting …' : label}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Outcome({ done, onClose }: { readonly done: DashboardActionDone; readonly onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <>
      <div role="status">
        <p>{done.text}</p>
        {done.notes.map((note) => (
          <p key={note} class="quiet">
            {note}
          </p>
        ))}
      </div>
      <div class="buttons">
        <button type="button" ref={close} onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}
