"""The training loop.

Everything random is drawn from the seed and the counters of `TrainingProgress`, batch by batch. So a run that is
killed and started again ends with the weights of one that was not, and many processes compute what one would have.
"""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from turia.config import Recipe
from turia.corpus.batches import Batch, Sampler, assemble
from turia.corpus.flowing import assemble_flowing
from turia.corpus.shards import load_subwords
from turia.engine.settings import LEAST_POSITIONS
from turia.errors import ConfigError, Stopped
from turia.model.checkpoint import fill_model, load_json, load_tensors, load_weights, save_checkpoint
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.system.files import write_file
from turia.system.memory import keep_freed_memory
from turia.system.signals import StopRequests
from turia.training import schedule
from turia.training.curves import draw_curves
from turia.training.data import PreparedData, is_stale, open_data
from turia.training.distributed import Ranks, ranks
from turia.training.loss import SummedLoss
from turia.training.optimizer import OPTIMIZER, Optimizer, check_optimizer
from turia.training.paths import MaskSettings, batch_limits, longest_source, random_limits, sample_k
from turia.training.precision import half_type
from turia.training.run import RunFolder, TrainingProgress
from turia.training.shifts import draw_shifts
from turia.training.transfer import check_meaning, starting_weights, take_over
from turia.training.validation import validate

LOG_SECONDS = 30.0


@dataclass(frozen=True)
class Status:
    """What a progress bar shows."""

    step: int
    share: float
    """Of the planned length, 0 to 1."""
    loss: float
    tokens_per_second: float
    seconds_left: float | None

    def line(self) -> str:
        """The status as a line for people."""
        left = "" if self.seconds_left is None else f", {timedelta(seconds=round(self.seconds_left))} left"
        return f"step {self.step}, loss {self.loss:.3f}, {self.tokens_per_second:.0f} tokens/s{left}"


Report = Callable[[Status | str], None]


class Trainer:
    """One training run, from its newest checkpoint to its planned end."""

    def __init__(self, recipe: Recipe, data: PreparedData, peers: Ranks, report: Report, fresh: bool) -> None:
        self.recipe, self.training, self.peers, self.report = recipe, recipe.training, peers, report
        self.train, self.dev, self.subwords = data.train, data.dev, data.subwords
        self.dev_recipe = next(iter(data.dev.values())).meta.recipe
        self.run = RunFolder(recipe.run)
        self.stop = StopRequests()
        self.policy = MaskSettings(
            recipe.model.encoder,
            recipe.model.anchor,
            self.train.meta.gamma,
            recipe.model.conventions != "marian",
            free=self.training.free_share > 0,
        )
        self.sampler = Sampler(self.train, recipe.windows.sentences_per_window, recipe.seed)
        if recipe.model.max_positions < LEAST_POSITIONS:
            raise ConfigError(
                f"model.max_positions is {recipe.model.max_positions}; a stream needs {LEAST_POSITIONS} or more"
            )
        torch.manual_seed(recipe.seed)
        source, target = self.subwords
        shape = shape_of(recipe.model, len(source), len(target), recipe.subwords.joint)
        self.model = Transformer(shape, self.training.dropout).to(peers.device)
        # What is wrong with the weights to begin with is said before anything of the run is written or deleted.
        self._started = ""
        if self.run.steps() and not fresh:
            check_optimizer(self.training, self.run.newest())
        elif self.training.start_from is not None:
            self._started = self._start_from(self.training.start_from)
        if peers.leads:
            if fresh:
                self.run.remove()
            self.run.begin(recipe, self.train.meta.gamma)
        peers.wait()
        self._half = half_type(peers.device, self.training.cpu_bfloat16)
        if self.training.cpu_bfloat16 and peers.device.type == "cpu" and self._half is None:
            report("training.cpu_bfloat16: this CPU has no instructions for bfloat16, so it trains in float32")
        on_cpu = self._half if peers.device.type == "cpu" else None
        self.optimizer = Optimizer(self.model, self.training, peers, on_cpu or torch.float32)
        self.scaler = torch.amp.GradScaler(peers.device.type, enabled=self._half is torch.float16)
        self.progress = TrainingProgress()
        self._rate_share = 0.0
        self._restore()
        module = SummedLoss(self.model, self.training.label_smoothing, self.training.skip_unlikely)
        together = DistributedDataParallel(module) if peers.world > 1 else module
        self.loss: torch.nn.Module = together
        self._batches: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        self._following = self.progress.pool

    # --- the run -------------------------------------------------------------------------------------------

    def share_done(self) -> float:
        """How much of the planned length is done."""
        if self.training.steps is not None:
            return self.progress.step / self.training.steps
        if self.training.hours is not None:
            return self.progress.seconds / (3600 * self.training.hours)
        return 0.0

    def train_to_end(self) -> None:
        """Trains to the planned end."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.report(f"{parameters / 1e6:.1f} million parameters on {self.peers.world} x {self.peers.device.type}")
        if self._validation_due():  # it was broken off
            self._validate()
        begun, before = time.monotonic(), self.progress.seconds
        last_log, last_save = begun, begun
        loss_sum, labels_sum = 0.0, 0
        while self.share_done() < 1:
            loss, labels = self._step()
            loss_sum, labels_sum = loss_sum + loss, labels_sum + labels
            now = time.monotonic()
            self.progress.seconds = self.peers.from_leader(before + now - begun)
            due_log = self.peers.from_leader(float(now - last_log >= LOG_SECONDS or self.share_done() >= 1))
            if due_log:
                self._log(self.peers.sum(loss_sum), labels_sum, now - last_log)
                last_log, loss_sum, labels_sum = now, 0.0, 0
            self._leave_if_asked()
            if self._validation_due():
                self._validate()
                # Validation is not training: it does not count to the planned hours nor to the speed that is shown.
                looked = time.monotonic() - now
                begun, last_log, last_save = begun + looked, last_log + looked, now + looked
            elif self._save_due(now - last_save):
                self.save()
                last_save = now
        if self.progress.validated_step < self.progress.step:
            self._validate()
        self.report(f"done: {self.progress.step} steps, {self.progress.seconds / 3600:.2f} hours, {self.run.path}")

    def _leave_if_asked(self) -> None:
        """After SIGINT or SIGTERM to any of the processes: saves, and raises `Stopped`."""
        number = self.stop.number
        if self.peers.sum(float(number)):
            self.save()
            self.report(f"stopped: step {self.progress.step} is saved, and the same command goes on from it")
            raise Stopped(number or signal.SIGTERM)

    def _step(self) -> tuple[float, int]:
        """One optimiser step; the summed loss of this process and the labels of all."""
        self.progress.step += 1
        step, world = self.progress.step, self.peers.world
        self._rate_share = schedule.rate_share(self.training, step, self.share_done())
        self.optimizer.set_rate(self._rate_share)
        taken = [self._next_batch() for _ in range(self.training.accumulate * world)]
        labels = int(sum(self.sampler.labels[samples].sum() for samples in taken))
        # So that labels weigh 1 in the mean of the step, however many of them are in last sentences.
        evened = labels / sum(self._samples_weight(samples) for samples in taken)
        mine = range(self.peers.rank, len(taken), world)
        total = 0.0
        self.loss.train()
        self.optimizer.zero_grad()
        for index in mine:
            with self._only_last_syncs(index == mine[-1]):
                loss = self._batch_loss(taken[index], index) * evened
                self.scaler.scale(loss * (world / labels)).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        if not math.isfinite(total):
            raise ConfigError(
                f"training has diverged: the loss of step {step} is {total}; go on from {self.run.path} with a lower "
                f"training.learning_rate, or with training.clip"
            )
        if self.training.clip > 0:
            self.optimizer.unscale(self.scaler)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.training.clip)
        self.optimizer.step(self.scaler)
        self.progress.target_tokens += labels
        return total, labels

    def _batch_loss(self, samples: np.ndarray[tuple[int], np.dtype[np.int64]], index: int) -> Tensor:
        """The summed loss of batch `index` of this step, its labels weighted; k, dropout and shifts follow from seed,
        step and index."""
        rng = np.random.default_rng([self.recipe.seed, 4, self.progress.step, index])
        torch.manual_seed(int(rng.integers(2**62)))
        batch = self._batch(samples, rng)
        lags = self.training.k_range or (1, longest_source(batch, self.policy.anchor))
        k = sample_k(rng, lags)
        if self.training.paths == "any" and rng.random() < self.training.any_share:
            reach, limit = random_limits(rng, batch, lags, self.policy)
        else:
            reach, limit = batch_limits(batch, k, self.policy)
        tensors = [torch.from_numpy(batch.source), reach, torch.from_numpy(batch.target), limit]
        if self.training.shift > 0:
            positions = self.model.shape.max_positions
            tensors.append(draw_shifts(rng, batch, self.training.shift, positions, self.sampler.pieces_ratio))
        last, more = batch.last_sentence, self.training.last_sentence_weight - 1
        weight = torch.from_numpy(1 + more * last).float().to(self.peers.device) if more else None
        with self._mixed_precision():
            on_device = (tensor.to(self.peers.device, non_blocking=True) for tensor in tensors)
            loss: Tensor = self.loss(*on_device, weight=weight)
        # Samples that were cut have fewer labels than all processes have counted: a label weighs the same anywhere.
        return loss * (self._samples_weight(samples) / self._weight(batch.target_tokens, int(last.sum())))

    def _samples_weight(self, samples: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        """What the labels of these samples weigh together, as all processes count it: none of them cut."""
        return self._weight(int(self.sampler.labels[samples].sum()), int(self.sampler.last_labels[samples].sum()))

    def _weight(self, labels: int, last: int) -> float:
        """The weight of so many labels together, `last` of which are in last sentences."""
        return labels + (self.training.last_sentence_weight - 1) * last

    def _batch(self, samples: np.ndarray[tuple[int], np.dtype[np.int64]], rng: np.random.Generator) -> Batch:
        """The samples as a batch: as they are, or without separators in their sources."""
        opening, share = self.policy.source_opening, self.training.free_share
        # No number is drawn where none is needed: older recipes go on as they would have.
        if share == 0 or rng.random() >= share:
            return assemble(self.train, samples, opening)
        return assemble_flowing(self.train, samples, opening, self.training.prefix_share, rng)

    def _next_batch(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The samples of the next batch; draws the next pool when this one is used up."""
        progress = self.progress
        if not self._batches:
            if progress.pool_batch_tokens == 0:
                self._enter_pool()
            self._draw_pool()
        elif progress.batch == len(self._batches):
            progress.pool, progress.batch = self._following, 0
            self._enter_pool()
            self._draw_pool()
        samples = self._batches[progress.batch]
        progress.batch += 1
        return samples

    def _enter_pool(self) -> None:
        self.progress.pool_batch_tokens = schedule.batch_tokens(self.training, self.progress.step)
        self.progress.pool_with_windows = self._sees_windows() and self.share_done() >= self.training.windows_from

    def _sees_windows(self) -> bool:
        """Whether windows join at some time. From 1.0 on is never, though at the last step all is done."""
        return self.recipe.windows.history > 0 and self.training.windows_from < 1

    def _draw_pool(self) -> None:
        self._batches, self._following = self.sampler.pool(
            self.progress.pool, self.progress.pool_with_windows, self.progress.pool_batch_tokens
        )
        # If the seed or the data has changed since, more batches may have been used than this pool has: go to the next.
        if self.progress.batch >= len(self._batches):
            self.progress.pool, self.progress.batch = self._following, 0
            self._enter_pool()
            self._draw_pool()

    # --- what is kept ----------------------------------------------------------------------------------------

    def save(self) -> Path:
        """Writes a checkpoint; the newest ones and the best one stay."""
        folder = self.run.checkpoint(self.progress.step)
        if self.peers.leads:
            progress = {**self.progress.to_json(), "scaler": self.scaler.state_dict()}
            if folder.exists():
                # Saved at this very step before: the weights are there, and only what was measured since is new.
                write_file(folder / "progress.json", json.dumps(progress, indent=1))
            else:
                save_checkpoint(folder, self.model, {"optimizer": self.optimizer.state()}, {"progress": progress})
            self.run.prune(self.training.keep)
        self.peers.wait()
        return folder

    def _restore(self) -> None:
        """Continues from the newest checkpoint that the first process sees, if there is one."""
        step = int(self.peers.from_leader(float(max(self.run.steps(), default=0))))
        if step == 0:
            if self.peers.leads:
                self.run.rewind_log(0, 0)
            if self._started:
                self.report(self._started)
            return
        folder = self.run.checkpoint(step)
        load_weights(self.model, folder)
        self.optimizer.load(load_tensors(folder / OPTIMIZER), folder)
        saved = load_json(folder / "progress.json")
        scaler = saved.pop("scaler")
        if scaler:  # none if the run came from a machine that needs no loss scaling
            self.scaler.load_state_dict(scaler)
        self.progress = progress = TrainingProgress.from_json(saved)
        if self.peers.leads:
            self.run.rewind_log(progress.step, progress.validated_step)
            if progress.best is not None and progress.validated_step == progress.step:
                # Killed between the two, it may have saved its best checkpoint without noting that it is.
                self.run.note_best(progress.step, progress.best)
        if progress.measured != self._measure():
            progress.best = None
        self.report(f"resumes at step {self.progress.step} ({self.share_done():.0%} done) from {folder}")

    def _start_from(self, other: Path) -> str:
        """Fine-tuning: fills the model with weights that are there. Their pieces must be ours, or are matched to ours.
        Returns a line that says where they came from."""
        if other.resolve() == self.run.path.resolve():
            raise ConfigError(f"training.start_from is the run itself, {other}; name another run or model folder")
        name, weights = starting_weights(other)
        check_meaning(self.model, other, name)
        if self.training.match_pieces:
            share = take_over(self.model, weights, self.subwords, other)
            return f"starts from {name}, with {share:.0%} of the pieces"
        for mine, theirs in zip(self.subwords, load_subwords(other), strict=True):
            if mine.model != theirs.model:
                raise ConfigError(
                    f"{other} was trained with other subwords; set subwords.reuse to it and prepare again, "
                    "or training.match_pieces"
                )
        fill_model(self.model, weights, name)
        return f"starts from {name}"

    def _log(self, loss: float, labels: int, seconds: float) -> None:
        share, mean = self.share_done(), loss / labels
        left = max(0.0, 1 - share) / share * self.progress.seconds if share > 0 else None
        if self.peers.leads:
            self.run.log(
                step=self.progress.step,
                seconds=round(self.progress.seconds, 1),
                target_tokens=self.progress.target_tokens,
                epochs=round(self.sampler.epochs(self.progress.pool), 3),
                loss=mean,
                learning_rate=self.training.learning_rate * self._rate_share,
                tokens_per_second=round(labels / seconds, 1),
            )
            self.report(Status(self.progress.step, share, mean, labels / seconds, left))

    def _validation_due(self) -> bool:
        """Whether it is time for a validation, by steps or by minutes of training."""
        every = self.recipe.validation
        if every.steps is not None:
            return self.progress.step - self.progress.validated_step >= every.steps
        return self.progress.seconds - self.progress.validated_seconds >= 60 * every.minutes

    def _save_due(self, seconds: float) -> bool:
        if self.training.save_steps is not None:
            return self.progress.step % self.training.save_steps == 0
        return bool(self.peers.from_leader(float(seconds >= 60 * self.training.save_minutes)))

    def _validate(self) -> None:
        progress = self.progress
        # Figures take minutes. Whoever kills the run meanwhile, as torchrun does half a minute after SIGTERM, costs it
        # no step.
        self.save()
        figures = self._figures() if self.peers.leads else {}
        if self.peers.from_leader(float(self.peers.leads and not figures)):
            self._leave_if_asked()
        progress.validated_step, progress.validated_seconds = progress.step, progress.seconds
        if self.peers.leads:
            self.run.log(step=progress.step, seconds=round(progress.seconds, 1), **figures)
            draw_curves(self.run.read_log(), self.run.path / "curves.png")
            self.report(", ".join(f"{name} {value:.3f}" for name, value in figures.items()))
        better = figures and (progress.best is None or figures["dev_loss"] < progress.best)
        if better:
            progress.best = figures["dev_loss"]
        progress.measured = self._measure()
        self.save()
        if better and self.peers.leads:
            self.run.set_best(progress.step, figures["dev_loss"])
            self.run.prune(self.training.keep)

    def _figures(self) -> dict[str, float]:
        """What the dev set says; nothing if the leader is asked to stop, which must not wait for it."""
        with suppress(Stopped), self.stop.obeyed_at_once():
            return validate(
                self.model,
                self.dev,
                self.subwords,
                self.policy,
                self.recipe.windows.history if self._sees_windows() else 0,
                self.recipe.validation,
            )
        return {}

    def _measure(self) -> str:
        """What decides the value of `dev_loss`, beside the weights."""
        every = self.recipe.validation
        samples = "windows" if self._sees_windows() else "sentences"
        samples += " without separators" if self.policy.free else ""
        # Release 0.1 took the sentences of several dev sets together.
        sets = f"; mean of {len(self.dev)} dev sets" if len(self.dev) > 1 else ""
        return (
            f"k {', '.join(map(str, every.k))}; {every.batches or 'all'} batches of {samples} by length, evenly spaced"
            f"; gamma {self.policy.gamma}; prepared as {self.dev_recipe}{sets}"
        )

    # --- precision and peers -----------------------------------------------------------------------------------

    def _mixed_precision(self) -> AbstractContextManager[object]:
        return nullcontext() if self._half is None else torch.autocast(self.peers.device.type, dtype=self._half)

    def _only_last_syncs(self, last: bool) -> AbstractContextManager[object]:
        if last or not isinstance(self.loss, DistributedDataParallel):
            return nullcontext()
        context: AbstractContextManager[object] = self.loss.no_sync()
        return context


def train(recipe: Recipe, report: Report, fresh: bool = False) -> Path:
    """Trains `recipe` to its planned end and returns the run folder; `fresh` forgets what is there.

    Raises `Stopped`, with a checkpoint of the last step, when SIGINT or SIGTERM comes before.
    """
    data = open_data(recipe)
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)
    with ranks() as peers:
        if peers.device.type == "cpu":
            keep_freed_memory()  # a quarter of the time of a step otherwise
        tell: Report = report if peers.leads else lambda _: None
        _refuse_stale(data, recipe, peers, tell, fresh)
        with RunFolder(recipe.run).alone() if peers.leads else nullcontext():
            trainer = Trainer(recipe, data, peers, tell, fresh)
            with trainer.stop.noted():
                trainer.train_to_end()
    return recipe.run


def _refuse_stale(data: PreparedData, recipe: Recipe, peers: Ranks, report: Report, fresh: bool) -> None:
    """A run begins with what its recipe says, as its card will; one that is there goes on with what it had.

    The leader looks for all: not every machine may have the corpora.
    """
    stale = peers.leads and is_stale(data, recipe)
    begins = peers.leads and (fresh or not RunFolder(recipe.run).steps())
    if peers.from_leader(float(stale and begins)):
        raise ConfigError(
            f"{recipe.data.folder} was prepared from another recipe, from other corpora or by another release; "
            f"run `turia prepare` on this recipe first"
        )
    if stale:
        report(f"{recipe.data.folder} is not what this recipe would prepare now; the run goes on with it as it is")
