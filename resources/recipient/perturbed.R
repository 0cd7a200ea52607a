# Cross-tables, regressions and imputations from perturbed columns, with their errors.
#
# Leave this file beside datapackage.json, which tells how columns were perturbed, and write
# source("perturbed.R") in that folder. It needs the package jsonlite; perturbed.py explains the
# method and gives the same figures in Python.

perturbed_package <- jsonlite::fromJSON("datapackage.json", simplifyVector = FALSE)
perturbed_z <- 1.959964
perturbed_powers <- new.env()
perturbed_lost <- paste(
  "The noise of a column hides how far its true values spread beside the other columns, so these",
  "records are too few to correct for it. Leave the column out."
)

perturbed_told <- function(name) {
  # How a column was perturbed; NULL where it was not.
  fields <- perturbed_package$resources[[1]]$schema$fields
  names(fields) <- vapply(fields, function(field) field$name, "")
  own <- fields[[name]]$sfumato
  if (is.null(own$mechanism)) return(NULL)
  if (is.null(own$channel)) {
    stop(name, " can't be used here: README.md tells what can be estimated of it.")
  }
  if (!is.null(own$channel$symbols)) {
    stop(name, " shows symbols in place of codes: count them by code_counts.")
  }
  own
}

perturbed_matrix <- function(channel) do.call(rbind, lapply(channel$transition, unlist))

perturbed_codes <- function(column, domain) {
  codes <- rep(NA_integer_, length(column))
  for (place in seq_along(domain)) {
    value <- domain[[place]]
    here <- if (is.null(value)) is.na(column) else !is.na(column) & column == value
    codes[here] <- place
  }
  if (anyNA(codes)) stop("A column has values that datapackage.json does not list.")
  codes
}

perturbed_values <- function(column) {
  # A column's values in the order in which they first occur.
  lapply(unique(column), function(value) if (is.na(value)) NULL else value)
}

perturbed_released <- function(data, own) {
  codes <- rep(0, nrow(data))
  for (place in seq_along(own$attributes)) {
    domain <- own$channel$domains[[place]]
    codes <- codes * length(domain) + perturbed_codes(data[[own$attributes[[place]]]], domain) - 1
  }
  codes + 1
}

perturbed_parts <- function(data, columns) {
  # Columns that were perturbed together, or one that was not, with all their values: each record's
  # substitutes for their combinations, the mean squares of these by the records' true combination
  # (NULL where nothing was perturbed), and by how much one record can change the count of each.
  parts <- list()
  left <- unique(columns)
  while (length(left) > 0) {
    own <- perturbed_told(left[1])
    if (is.null(own)) {
      names <- left[1]
      domains <- list(perturbed_values(data[[names]]))
      codes <- perturbed_codes(data[[names]], domains[[1]])
      part <- list(
        substitutes = diag(1, length(domains[[1]]))[codes, , drop = FALSE],
        step = rep(1, length(domains[[1]]))
      )
    } else {
      every <- unlist(own$attributes)
      names <- every[every %in% left]
      domains <- own$channel$domains[every %in% left]
      chances <- perturbed_matrix(own$channel)
      released <- perturbed_released(data, own)
      sizes <- vapply(own$channel$domains, length, 1L)
      # The last column's values are counted through first.
      places <- as.matrix(rev(expand.grid(rev(lapply(sizes, seq_len)))))
      target <- rep(0, nrow(places))
      for (place in which(every %in% left)) {
        target <- target * sizes[place] + places[, place] - 1
      }
      member <- t(diag(1, prod(sizes[every %in% left]))[target + 1, , drop = FALSE])
      inverse <- solve(chances)
      count <- as.vector(inverse %*% tabulate(released, nrow(chances)))
      shares <- perturbed_smoothed(count, sum(pmax(count, 0)), nrow(data), length(count))
      within <- sweep(member, 2, shares, "*")
      within <- within / rowSums(within)
      inverse <- member %*% inverse
      part <- list(
        substitutes = t(inverse)[released, , drop = FALSE],
        squares = inverse^2 %*% chances %*% t(within),
        step = apply(inverse, 1, max) - apply(inverse, 1, min)
      )
    }
    parts <- c(parts, list(c(list(names = names, domains = domains), part)))
    left <- setdiff(left, names)
  }
  parts
}

perturbed_smoothed <- function(count, total, records, size) {
  # Shares that estimated counts stand for, of so many cells that sum to a total: none is 0.
  (records * pmax(count, 0) / pmax(total, 1e-300) + 1 / size) / (records + 1)
}

perturbed_spread <- function(parts, rows) {
  # Columns, combinations of their values, and each record's substitutes for them.
  order <- character()
  cells <- list(list())
  shares <- matrix(1, rows, 1)
  for (part in parts) {
    order <- c(order, part$names)
    for (domain in part$domains) {
      cells <- unlist(lapply(cells, function(cell) {
        lapply(domain, function(value) c(cell, list(value)))
      }), recursive = FALSE)
    }
    if (length(cells) > 2000) stop("There are too many combinations. Use fewer columns.")
    first <- rep(seq_len(ncol(shares)), each = ncol(part$substitutes))
    second <- rep(seq_len(ncol(part$substitutes)), ncol(shares))
    shares <- shares[, first, drop = FALSE] * part$substitutes[, second, drop = FALSE]
  }
  list(order = order, cells = cells, shares = shares)
}

perturbed_widening <- function(columns) {
  unit <- perturbed_package$sfumato$unit
  if (any(columns %in% unlist(unit$drawn_once))) sqrt(unit$most_rows) else 1
}

perturbed_text <- function(value) if (is.null(value)) "(missing)" else as.character(value)

crosstab <- function(data, columns, sample = FALSE) {
  # How many records truly have each combination of values, with 95 % intervals. Standard errors
  # refer to these records. If they are a sample, and you ask about the population that they were
  # drawn from, pass sample = TRUE.
  parts <- perturbed_parts(data, columns)
  spread <- perturbed_spread(parts, nrow(data))
  count <- colSums(spread$shares)
  widening <- perturbed_widening(columns)^2
  told <- perturbed_variances(parts, count)
  constant <- widening * told$room * told$of_others
  linear <- widening * (told$of_own - told$of_others - (if (sample) 0 else 1))
  square <- if (sample) -widening / nrow(data) else 0
  held <- pmin(pmax(count, 0), told$room) # an estimate can lie where no truth does
  most <- if (sample) nrow(data) else told$room
  ends <- perturbed_interval(count, told$step, constant, linear, square, told$room, most)
  table <- lapply(seq_along(spread$order), function(place) {
    vapply(spread$cells, function(cell) perturbed_text(cell[[place]]), "")
  })
  names(table) <- spread$order
  data.frame(
    table,
    count = count,
    standard_error = sqrt(pmax(constant + linear * held + square * held^2, 0)),
    low = ends[[1]],
    high = ends[[2]],
    check.names = FALSE
  )
}

perturbed_variances <- function(parts, count) {
  # How large the variances of estimated counts are: how many records show the values of columns
  # that were not perturbed; by how much one of them changes the count; and the square of what it
  # adds, on average of those that truly belong to the cell, and of the others. These are mixed by
  # estimated counts, of which none is below 0: so the variance is not small where the count is.
  sizes <- vapply(parts, function(part) ncol(part$substitutes), 1L)
  places <- as.matrix(rev(expand.grid(rev(lapply(sizes, seq_len)))))
  noisy <- which(vapply(parts, function(part) !is.null(part$squares), NA))
  group <- rep(0, nrow(places))
  for (part in setdiff(seq_along(parts), noisy)) {
    group <- group * sizes[part] + places[, part] - 1
  }
  room <- stats::ave(count, group, FUN = sum)
  total <- stats::ave(pmax(count, 0), group, FUN = sum)
  share <- perturbed_smoothed(count, total, room, prod(sizes[noisy]))
  own <- step <- rep(1, length(count))
  every <- share
  for (part in noisy) {
    squares <- parts[[part]]$squares
    own <- own * diag(squares)[places[, part]]
    step <- step * parts[[part]]$step[places[, part]]
    # The cells that differ in this part alone lie so far apart.
    apart <- prod(c(1, sizes[-seq_len(part)]))
    first <- seq_along(count) - (places[, part] - 1) * apart
    every <- rowSums(vapply(seq_len(sizes[part]), function(true) {
      squares[places[, part], true] * every[first + (true - 1) * apart]
    }, numeric(length(count))))
  }
  others <- ifelse(share < 1, (every - share * own) / (1 - share), 0)
  if (length(noisy) > 1) step <- 0 * step # of several, sums lie close together
  list(room = room, step = step, of_own = own, of_others = others)
}

perturbed_interval <- function(count, step, constant, linear, square, n, most) {
  # The counts that the estimate does not contradict (Wilson's interval, corrected for continuity):
  # constant + linear * t + square * t^2 is its variance where t is the truth.
  z <- perturbed_z
  step <- step * (constant + linear * n / 2 + square * n^2 / 4 > 1e-9 * step^2)
  lapply(c(-1, 1), function(side) {
    moved <- count + side * step / 2
    scale <- 1 - z^2 * square
    middle <- moved + z^2 * linear / 2
    root <- sqrt(pmax(middle^2 - scale * (moved^2 - z^2 * constant), 0))
    pmin(pmax(side * pmax(side * (middle + side * root) / scale, side * moved), 0), most)
  })
}

perturbed_transform <- function(table) {
  # Each column's Walsh-Hadamard transform: sums over y of its numbers times (-1)^|j and y|.
  size <- nrow(table)
  half <- 1
  while (half < size) {
    first <- which(((seq_len(size) - 1) %/% half) %% 2 == 0)
    sums <- table[first, , drop = FALSE] + table[first + half, , drop = FALSE]
    table[first + half, ] <- table[first, , drop = FALSE] - table[first + half, , drop = FALSE]
    table[first, ] <- sums
    half <- 2 * half
  }
  table
}

code_counts <- function(data, column, sample = FALSE, weights = NULL) {
  # How many records truly have each code of a column of symbols, with 95 % intervals. weights
  # names a column of sampling weights: then counts and errors are the population's.
  fields <- perturbed_package$resources[[1]]$schema$fields
  names(fields) <- vapply(fields, function(field) field$name, "")
  rule <- fields[[column]]$sfumato$channel$symbols
  if (is.null(rule)) stop(column, " shows no symbols: README.md tells how to count it.")
  p <- rule$retention_probability
  blocks <- rule$blocks
  size <- rule$symbols_in_block
  shown <- data[[column]]
  n <- length(shown)
  if (n == 0) stop("There are no records to estimate from.")
  if (anyNA(shown) || !all(shown %in% (seq_len(blocks * size) - 1))) {
    stop(column, " has symbols that datapackage.json does not list.")
  }
  places <- seq_along(rule$codes) - 1
  own <- cbind(places %/% blocks + 2, places %% blocks + 1)
  summed <- function(power) {
    counted <- if (is.null(weights)) {
      tabulate(shown + 1, blocks * size)
    } else {
      added <- rowsum(data[[weights]]^power, shown)
      replace(rep(0, blocks * size), as.numeric(rownames(added)) + 1, added[, 1])
    }
    table <- matrix(as.numeric(counted), size, blocks)
    list(count = perturbed_transform(table)[own] / p, in_block = colSums(table)[own[, 2]])
  }
  found <- summed(1)
  count <- found$count
  table <- data.frame(code = vapply(rule$codes, perturbed_text, ""), count = count)
  if (!is.null(weights)) {
    weight <- data[[weights]]
    second <- summed(2)
    share <- count / sum(weight)
    spread <- second$in_block / p^2 - 2 * share * second$count + share^2 * sum(weight^2)
    error <- sqrt(pmax(spread, 0) * n / max(n - 1, 1)) * perturbed_widening(column)
    table$standard_error <- error
    reach <- perturbed_student(max(sum(weight)^2 / sum(weight^2) - 1, 1)) * error
    table$low <- count - reach
    table$high <- count + reach
    return(table)
  }
  wide <- perturbed_widening(column)^2
  share <- pmin((pmax(count, 0) + 1 / length(count)) / (n + 1), 1 - 1e-9)
  of_own <- (p + (1 - p) / blocks) / p^2
  of_others <- ((found$in_block + 1 / blocks) / (n + 1) / p^2 - share * of_own) / (1 - share)
  constant <- wide * n * of_others
  linear <- wide * (of_own - of_others - (if (sample) 0 else 1))
  square <- if (sample) -wide / n else 0
  held <- pmin(pmax(count, 0), n)
  table$standard_error <- sqrt(pmax(constant + linear * held + square * held^2, 0))
  ends <- perturbed_interval(count, rep(2 / p, length(count)), constant, linear, square, n, n)
  table$low <- ends[[1]]
  table$high <- ends[[2]]
  table
}

perturbed_noise <- function(numbers) {
  # The covariance of the noise in numeric columns; 0 where there is none.
  noise <- matrix(0, length(numbers), length(numbers), dimnames = list(numbers, numbers))
  for (name in numbers) {
    own <- perturbed_told(name)
    if (is.null(own)) next
    covariance <- do.call(rbind, lapply(own$channel$noise_covariance, unlist))
    every <- unlist(own$attributes)
    both <- intersect(every, numbers)
    noise[name, both] <- covariance[match(name, every), match(both, every)]
  }
  noise
}

perturbed_is_number <- function(data, name) {
  own <- perturbed_told(name)
  if (is.null(own)) is.numeric(data[[name]]) else !is.null(own$channel$noise_covariance)
}

regression <- function(data, outcome, predictors, kind = "linear") {
  # The coefficients of a regression, with 95 % intervals for the population. The outcome is a
  # numeric column, or list(column, value): the event that the column truly has this value. Numbers
  # enter as they are, other columns as indicators of their values but the first. A logistic
  # regression (kind = "logistic") needs an event, or a numeric column of 0 and 1 without noise, and
  # predictors without noise. Records in which a number is missing are left out.
  event <- is.list(outcome)
  response <- if (event) outcome[[1]] else outcome
  is_number <- vapply(predictors, function(name) perturbed_is_number(data, name), NA)
  numbers <- predictors[is_number]
  measured <- if (event) numbers else c(numbers, response)
  data <- data[stats::complete.cases(data[measured]) | length(measured) == 0, , drop = FALSE]
  noise <- matrix(0, length(numbers) + 1, length(numbers) + 1)
  noise[seq_along(measured), seq_along(measured)] <- perturbed_noise(measured)
  if (kind == "logistic" && any(noise != 0)) {
    stop(
      "A logistic regression can't correct for the noise of numbers. Leave them out, or use",
      " impute with the outcome and the other predictors as given, and combine."
    )
  }
  listed <- predictors[!is_number]
  spread <- perturbed_spread(perturbed_parts(data, c(if (event) response, listed)), nrow(data))
  value_of <- function(cell, name) perturbed_text(cell[[match(name, spread$order)]])
  terms <- do.call(rbind, lapply(listed, function(name) {
    values <- unique(vapply(spread$cells, value_of, "", name = name))[-1]
    cbind(rep(name, length(values)), values)
  }))
  count <- NROW(terms)
  fixed <- t(vapply(spread$cells, function(cell) {
    shown <- vapply(seq_len(count), function(k) value_of(cell, terms[k, 1]) == terms[k, 2], NA)
    c(1, as.numeric(shown))
  }, numeric(1 + count)))
  fixed <- matrix(fixed, length(spread$cells), 1 + count)
  own <- as.matrix(data[numbers])
  storage.mode(own) <- "double"
  y <- function(k) {
    if (!event) return(as.numeric(data[[response]]))
    as.numeric(value_of(spread$cells[[k]], response) == perturbed_text(outcome[[2]]))
  }
  solved <- perturbed_solve(spread$shares, fixed, own, y, noise, kind == "logistic")
  error <- sqrt(diag(solved$covariance)) * perturbed_widening(c(response, predictors))
  named <- vapply(seq_len(count), function(k) paste0(terms[k, 1], ": ", terms[k, 2]), "")
  data.frame(
    term = c("(intercept)", named, numbers),
    estimate = solved$estimate,
    standard_error = error,
    low = solved$estimate - perturbed_z * error,
    high = solved$estimate + perturbed_z * error
  )
}

perturbed_solve <- function(shares, fixed, own, y, noise, logistic) {
  # Where the corrected score is 0, and the covariance of that (a sandwich).
  size <- ncol(fixed) + ncol(own)
  inside <- matrix(0, size, size)
  beside <- rep(0, size)
  where <- ncol(fixed) + seq_len(ncol(own))
  inside[where, where] <- noise[seq_len(ncol(own)), seq_len(ncol(own))]
  beside[where] <- noise[seq_len(ncol(own)), ncol(noise)]
  found <- rep(0, size)
  for (round in 1:50) {
    score <- matrix(0, nrow(shares), size)
    slope <- matrix(0, size, size)
    for (k in seq_len(nrow(fixed))) {
      x <- cbind(matrix(fixed[k, ], nrow(shares), ncol(fixed), byrow = TRUE), own)
      fit <- as.vector(x %*% found)
      steepness <- 1
      if (logistic) {
        fit <- 1 / (1 + exp(-fit))
        steepness <- fit * (1 - fit)
      }
      score <- score + shares[, k] * (y(k) - fit) * x
      slope <- slope + crossprod(x * (shares[, k] * steepness), x)
    }
    score <- sweep(score, 2, as.vector(inside %*% found) - beside, "+")
    slope <- slope - nrow(shares) * inside
    step <- tryCatch(solve(slope, colSums(score)), error = function(problem) NULL)
    if (is.null(step)) break
    # Far from the solution the slope leads too far.
    if (logistic) step <- step * min(1, 1 / max(abs(step)))
    found <- found + step
    if (max(abs(step)) < 1e-9 * max(1, abs(found))) {
      inverse <- solve(slope)
      perturbed_check_noise(shares, fixed, own, inside, inverse)
      return(list(estimate = found, covariance = inverse %*% crossprod(score) %*% t(inverse)))
    }
  }
  stop(
    "The regression has no solution: there are too few records for so many terms, or where ",
    "predictors have some value, none or all of the records are estimated to have the outcome. ",
    "Take a frequent outcome, and fewer predictors or values of them, or join rare values."
  )
}

perturbed_check_noise <- function(shares, fixed, own, inside, inverse) {
  # Refuse noise in which a predictor's own spread, beside the other terms, is lost: where the noisy
  # spread less the noise's is below five standard errors, intervals hold the truth too rarely.
  for (place in which(diag(inside) > 0)) {
    along <- inverse[, place] / inverse[place, place]
    spread <- rep(-sum(along * (inside %*% along)), nrow(shares))
    for (k in seq_len(nrow(fixed))) {
      first <- seq_len(ncol(fixed))
      rest <- sum(fixed[k, ] * along[first]) + as.vector(own %*% along[-first])
      spread <- spread + shares[, k] * rest^2
    }
    if (sum(spread) < 5 * sqrt(length(spread)) * sd(spread)) {
      stop(perturbed_lost)
    }
  }
}

perturbed_uniforms <- function(first, count, seed) {
  # Random numbers of Wichmann and Hill's generator, the same in Python, without states.
  steps <- first + seq_len(count)
  bases <- c(171, 172, 170)
  moduli <- c(30269, 30307, 30323)
  total <- rep(0, count)
  for (place in 1:3) {
    modulus <- moduli[place]
    name <- as.character(modulus)
    if (is.null(perturbed_powers[[name]])) {
      powers <- numeric(modulus - 1)
      power <- 1
      for (k in seq_len(modulus - 1)) {
        powers[k] <- power
        power <- (power * bases[place]) %% modulus
      }
      assign(name, powers, envir = perturbed_powers)
    }
    start <- 1 + (seed * 7919 + (place - 1) * 104729) %% (modulus - 1)
    power <- perturbed_powers[[name]][steps %% (modulus - 1) + 1]
    total <- total + ((start * power) %% modulus) / modulus
  }
  pmax(total %% 1, 1e-12)
}

impute <- function(data, column, given = character(), times = 20, seed = 1) {
  # The table several times, a perturbed column replaced by draws of the true values. Analyse each
  # as if nothing had been perturbed, and combine what you find. given names the columns that the
  # analysis relates to it, none of them perturbed; what is not among them seems unrelated. Columns
  # that were perturbed together are drawn together. perturbed.py tells the models.
  own <- perturbed_told(column)
  if (is.null(own)) stop(column, " was not perturbed.")
  if (!all(vapply(given, function(name) is.null(perturbed_told(name)), NA))) {
    stop("given can't name perturbed columns.")
  }
  if (!is.null(own$channel$noise_covariance)) {
    return(perturbed_impute_numbers(data, own, given, times, seed))
  }
  chances <- perturbed_matrix(own$channel)
  shown <- perturbed_released(data, own)
  rows <- nrow(data)
  groups <- perturbed_spread(perturbed_parts(data, given), rows)$shares
  group <- max.col(groups, "first")
  lapply(seq_len(times), function(time) {
    random <- perturbed_uniforms(2 * rows * (time - 1), 2 * rows, seed)
    weights <- -log(random[seq_len(rows)])
    weights <- weights / mean(weights)
    counts <- matrix(0, ncol(groups), nrow(chances))
    summed <- tapply(weights, list(factor(group, seq_len(nrow(counts))),
                                   factor(shown, seq_len(ncol(counts)))), sum)
    counts[!is.na(summed)] <- summed[!is.na(summed)]
    shares <- matrix(1 / nrow(chances), nrow(counts), ncol(counts))
    for (step in 1:300) {
      expected <- shares %*% t(chances)
      ratio <- ifelse(expected > 0, counts / expected, 0)
      shares <- shares * (ratio %*% chances)
      shares <- shares / pmax(rowSums(shares), 1e-300)
    }
    chance <- shares[group, , drop = FALSE] * chances[shown, , drop = FALSE]
    for (k in seq_len(ncol(chance))[-1]) chance[, k] <- chance[, k] + chance[, k - 1]
    drawn <- rowSums(chance < random[rows + seq_len(rows)] * chance[, ncol(chance)])
    drawn <- pmin(drawn, nrow(chances) - 1)
    for (place in rev(seq_along(own$attributes))) {
      domain <- own$channel$domains[[place]]
      values <- unlist(lapply(domain, function(value) if (is.null(value)) NA else value))
      data[[own$attributes[[place]]]] <- values[drawn %% length(domain) + 1]
      drawn <- drawn %/% length(domain)
    }
    data
  })
}

perturbed_impute_numbers <- function(data, own, given, times, seed) {
  # The table with draws of numbers given what was released; missing where any is.
  names <- unlist(own$attributes)
  noise <- do.call(rbind, lapply(own$channel$noise_covariance, unlist))
  is_number <- vapply(given, function(name) perturbed_is_number(data, name), NA)
  beside <- given[is_number]
  whole <- stats::complete.cases(data[c(names, beside)])
  used <- data[whole, , drop = FALSE]
  groups <- perturbed_spread(perturbed_parts(used, given[!is_number]), nrow(used))$shares
  x <- cbind(groups[, colSums(groups) > 0, drop = FALSE], as.matrix(used[beside]))
  y <- as.matrix(used[names])
  storage.mode(x) <- storage.mode(y) <- "double"
  rows <- nrow(y)
  count <- ncol(y)
  spread <- sweep(perturbed_explained(x, y, rep(1, rows))$rest^2, 2, diag(noise))
  if (any(colSums(spread) < 5 * sqrt(rows) * apply(spread, 2, sd))) stop(perturbed_lost)
  size <- (1 + 2 * count) * rows
  lapply(seq_len(times), function(time) {
    random <- perturbed_uniforms(size * (time - 1), size, seed)
    weights <- -log(random[seq_len(rows)])
    found <- perturbed_explained(x, y, weights / mean(weights))
    true <- perturbed_power(found$square - noise, 1)
    share <- solve(true + noise, true)
    pair <- matrix(random[-seq_len(rows)], rows)
    normal <- sqrt(-2 * log(pair[, seq_len(count)])) * cos(2 * pi * pair[, count + seq_len(count)])
    drawn <- found$fit + found$rest %*% share +
      matrix(normal, rows) %*% perturbed_power(true - true %*% share, 0.5)
    for (place in seq_len(count)) {
      data[[names[place]]] <- NA_real_
      data[[names[place]]][whole] <- drawn[, place]
    }
    data
  })
}

perturbed_explained <- function(x, y, weights) {
  # What a linear model explains, the covariance of the rest, and the rest.
  found <- tryCatch(solve(crossprod(x, x * weights), crossprod(x, y * weights)), error = function(e) {
    stop("A given column follows from the others. Leave it out.")
  })
  fit <- x %*% found
  rest <- y - fit
  list(fit = fit, square = crossprod(rest * weights, rest) / max(nrow(y) - ncol(x), 1), rest = rest)
}

perturbed_power <- function(square, exponent) {
  # A power of a covariance, in which what is negative by chance is 0.
  found <- eigen((square + t(square)) / 2, symmetric = TRUE)
  found$vectors %*% (pmax(found$values, 0)^exponent * t(found$vectors))
}

perturbed_student <- function(freedom) {
  # Student's 97.5 % quantile, to within 1 % for 5 or more degrees of freedom.
  z <- perturbed_z
  z + (z^3 + z) / (4 * freedom) + (5 * z^5 + 16 * z^3 + 3 * z) / (96 * freedom^2)
}

combine <- function(estimates, errors) {
  # Combine what was estimated from each imputed table, with 95 % intervals (Rubin, 1987). Both are
  # lists of equally many numbers for each table: estimates, and their standard errors.
  found <- do.call(rbind, as.list(estimates))
  within <- colMeans(do.call(rbind, as.list(errors))^2)
  between <- apply(found, 2, stats::var) * (1 + 1 / nrow(found))
  error <- sqrt(within + between)
  freedom <- (nrow(found) - 1) * (1 + within / pmax(between, 1e-300))^2
  t <- perturbed_student(freedom)
  mean <- colMeans(found)
  data.frame(estimate = mean, standard_error = error, low = mean - t * error, high = mean + t * error)
}
